// ServerCalls: questions and commands to a server over its HTTP API (docs/http-api.md). Whatever is
// refused is an Error with the code and fields it has in the process of the engine; a server that
// does not answer is `unavailable`, with what to do next.
#pragma once

#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>

#include "apps/cli/backend.h"
#include "net/http_client.h"

namespace holdfast {

class ServerCalls {
 public:
  // Nothing is sent. invalid_url, invalid_argument.
  static Result<std::unique_ptr<ServerCalls>> open(const NamedServer& server);

  struct Call {
    std::string_view method = "GET";
    std::string path = {};   // with its query
    std::string body = {};   // JSON; empty: none
    Form form = Form::json;  // of the answer
    bool repeatable = false;
    std::chrono::milliseconds timeout{60'000};
  };
  Result<net::HttpOutcome> send(const Call& call, const std::stop_token& stop = {});
  // The body of the answer, JSON.
  Result<std::string> get(std::string_view path);
  Result<std::string> post(std::string_view path, std::string_view body);

  struct Stream {
    std::string path;
    std::string after = {};  // the id of the newest event that is known; empty: as the path says
    std::chrono::milliseconds silence{60'000};  // is over when nothing has come for so long
  };
  // quiet: nothing came, or it ended as it should. broken: the server cannot be reached now.
  enum class StreamEnd : std::uint8_t { stopped, quiet, broken };
  // Until `seen` gives false or somebody stops it, or one of the others.
  Result<StreamEnd> follow(const Stream& stream,
                           const std::function<bool(const net::ServerEvent&)>& seen,
                           const std::stop_token& stop);
  // An answer that is longer than what should be in memory.
  Result<void> download(std::string_view path, std::ostream& out, const Progress& progress);

  [[nodiscard]] const std::string& suffix() const { return server_.suffix; }

 private:
  ServerCalls(NamedServer server, std::unique_ptr<net::HttpClient> http)
      : server_(std::move(server)), http_(std::move(http)) {}

  [[nodiscard]] Error refused(const net::HttpOutcome& answer) const;
  [[nodiscard]] Error unanswered(const net::HttpOutcome& outcome) const;

  NamedServer server_;
  std::unique_ptr<net::HttpClient> http_;
};

}  // namespace holdfast

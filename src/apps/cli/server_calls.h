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
#include "apps/client/http_client.h"

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
  Result<client::HttpOutcome> send(const Call& call, const std::stop_token& stop = {});
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
                           const std::function<bool(const client::ServerEvent&)>& seen,
                           const std::stop_token& stop);
  // An answer that is longer than what should be in memory.
  Result<void> download(std::string_view path, std::ostream& out, const Progress& progress);

  [[nodiscard]] const std::string& suffix() const { return server_.suffix; }

 private:
  ServerCalls(NamedServer server, client::HttpOptions options,
              std::unique_ptr<client::HttpClient> http)
      : server_(std::move(server)), options_(std::move(options)), http_(std::move(http)) {}

  [[nodiscard]] Error refused(const client::HttpOutcome& answer) const;
  [[nodiscard]] Error unanswered(const client::HttpOutcome& outcome) const;

  NamedServer server_;
  client::HttpOptions options_;
  std::unique_ptr<client::HttpClient> http_;
};

}  // namespace holdfast

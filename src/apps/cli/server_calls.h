// ServerCalls: calls of a server's HTTP API (docs/http-api.md). A refusal is an Error with the code
// and fields it has in the engine; a server that does not respond is `unavailable`, with what to do
// next.
#pragma once

#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>

#include "apps/cli/backend.h"
#include "net/http_client.h"

namespace holdfast::cli {

class ServerCalls {
 public:
  // Sends nothing. Fails with invalid_url or invalid_argument.
  static Result<std::unique_ptr<ServerCalls>> open(const NamedServer& server);

  struct Call {
    std::string_view method = "GET";
    std::string path = {};   // with its query
    std::string body = {};   // JSON; empty: none
    Form form = Form::json;  // of the response
    bool repeatable = false;
    std::chrono::milliseconds timeout{60'000};
  };
  Result<net::HttpOutcome> send(const Call& call, const std::stop_token& stop = {});
  // The body of the response, JSON.
  Result<std::string> get(std::string_view path);

  struct Stream {
    std::string path;
    std::string after = {};  // the id of the newest known event; empty: as in the path
    std::chrono::milliseconds silence{60'000};  // ends after this time without data
  };
  // quiet: no data came, or the server ended the stream. broken: the server is unreachable.
  enum class StreamEnd : std::uint8_t { stopped, quiet, broken };
  // Until `seen` returns false, `stop` is requested, or the stream ends.
  Result<StreamEnd> follow(const Stream& stream,
                           const std::function<bool(const net::ServerEvent&)>& seen,
                           const std::stop_token& stop);
  // For responses that are too long for memory.
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

}  // namespace holdfast::cli

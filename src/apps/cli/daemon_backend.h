// DaemonBackend: the daemon that a command talks to, through the unix socket in its folder: --home,
// HOLDFAST_DAEMON_HOME, or ~/.holdfast/daemon.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "apps/cli/arguments.h"
#include "apps/cli/cli_context.h"
#include "apps/daemon/daemon_folder.h"
#include "base/json_value.h"
#include "holdfast/result.h"
#include "net/http_client.h"

namespace holdfast::cli {

inline constexpr std::uint64_t kExitNoDaemon = 7;
inline constexpr int kExitDegraded = 8;
inline constexpr std::uint64_t kExitNotAuthenticated = 9;
inline constexpr std::uint64_t kExitConfiguration = 78;

void add_daemon_home(Arguments& arguments, std::string& home);
// invalid_argument when there is no home folder to derive it from.
Result<delivery::DaemonFolder> daemon_folder_of(const std::string& home);

class DaemonBackend {
 public:
  static Result<DaemonBackend> open(const std::string& home);

  struct Call {
    std::string_view method = "GET";
    std::string path = {};    // percent-encoded
    std::string body = {};    // JSON
    bool repeatable = false;  // in any case a GET and a DELETE are
  };
  // The JSON of the response. Without a daemon the command ends with exit code 7. The errors of the
  // daemon.
  Result<std::string> send(const Call& call);
  // The events behind a position (empty: from now on), until `receive` returns false or stop is
  // requested. They continue where they broke off, also when the daemon was started again.
  Result<void> events(std::string position,
                      const std::function<bool(const net::ServerEvent&)>& receive,
                      const std::stop_token& stop);

 private:
  [[nodiscard]] Error no_daemon(const net::HttpOutcome& outcome) const;

  DaemonBackend(delivery::DaemonFolder folder, std::unique_ptr<net::HttpClient> http)
      : folder_(std::move(folder)), http_(std::move(http)) {}

  delivery::DaemonFolder folder_;
  std::unique_ptr<net::HttpClient> http_;
};

// Sends the call, and prints the JSON with --json; otherwise `show` prints it.
template <typename Show>
Result<void> call_daemon(const std::string& home, Context& context, const DaemonBackend::Call& call,
                         const Show& show) {
  HOLDFAST_TRY(auto backend, DaemonBackend::open(home));
  HOLDFAST_TRY(const std::string body, backend.send(call));
  if (context.json()) {
    print_body(context, body);
    return {};
  }
  HOLDFAST_TRY(const Json json, Json::parse(body));
  show(json);
  return {};
}

}  // namespace holdfast::cli

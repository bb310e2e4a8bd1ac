#include "apps/cli/daemon_backend.h"

#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>

#include "apps/cli/cli_run.h"
#include "apps/cli/cli_store.h"
#include "apps/client/client_problem.h"

namespace holdfast::cli {

namespace {

constexpr int kFirstRefusedStatus = 300;

std::string home_variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

void add_daemon_home(Arguments& arguments, std::string& home) {
  arguments.option("--home", "DIR", home,
                   "Folder of the daemon (default: $HOLDFAST_DAEMON_HOME, else "
                   "~/.holdfast/daemon)");
}

Result<delivery::DaemonFolder> daemon_folder_of(const std::string& home) {
  std::string path = home.empty() ? home_variable("HOLDFAST_DAEMON_HOME") : home;
  if (path.empty()) {
    const std::string user = home_variable("HOME");
    if (user.empty()) {
      return Error{ErrorCode::invalid_argument,
                   "the variable HOME is not set; name the folder of the daemon with --home"};
    }
    path = user + "/.holdfast/daemon";
  }
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return delivery::DaemonFolder(path);
}

Result<DaemonBackend> DaemonBackend::open(const std::string& home) {
  HOLDFAST_TRY(delivery::DaemonFolder folder, daemon_folder_of(home));
  net::Url url;
  url.kind = net::Url::Kind::unix_socket;
  url.path = folder.file("sock");
  net::HttpOptions options;
  options.user_agent = "holdfast/" HOLDFAST_VERSION;
  HOLDFAST_TRY(auto http, net::HttpClient::create(std::move(url), options));
  return DaemonBackend(std::move(folder), std::move(http));
}

Error DaemonBackend::no_daemon(const net::HttpOutcome& outcome) const {
  return advised(client::error_without_response(outcome),
                 fmt::format("no daemon answers in {}; `holdfast daemon up` starts one",
                             folder_.path()))
      .with(kExitCodeField, kExitNoDaemon);
}

Result<void> DaemonBackend::events(std::string position,
                                   const std::function<bool(const net::ServerEvent&)>& receive,
                                   const std::stop_token& stop) {
  constexpr std::chrono::seconds kSilence{45};  // three of the comments that a daemon sends
  constexpr int kAgainMs = 100;
  bool ended = false;
  const auto take = [&](const net::ServerEvent& event) {
    position = event.id.empty() ? position : event.id;
    ended = !receive(event);
    return !ended;
  };
  for (bool first = true;; first = false) {
    net::HttpCall call;
    call.target = "/v1/events";
    call.headers.emplace_back("Accept", "text/event-stream");
    if (!position.empty()) {
      call.headers.emplace_back("Last-Event-ID", position);
    }
    const net::HttpOutcome outcome = http_->events(call, kSilence, take, stop);
    if (ended || outcome.stopped() || stop.stop_requested()) {
      return {};
    }
    if (outcome.kind == net::HttpOutcome::Kind::nothing_sent && first) {
      return no_daemon(outcome);
    }
    if (outcome.kind == net::HttpOutcome::Kind::answered && outcome.status >= kFirstRefusedStatus) {
      return client::error_of_response(outcome);
    }
    ::poll(nullptr, 0, kAgainMs);
  }
}

Result<std::string> DaemonBackend::send(const Call& call) {
  net::HttpCall http;
  http.method = call.method;
  http.target = call.path;
  if (call.method == "POST") {
    http.body = call.body.empty() ? std::string_view("{}") : std::string_view(call.body);
    http.content_type = "application/json";
  }
  http.repeatable = call.method != "POST" || call.repeatable;
  net::HttpOutcome outcome = http_->send(http);
  if (outcome.kind == net::HttpOutcome::Kind::nothing_sent) {
    return no_daemon(outcome);
  }
  if (outcome.kind != net::HttpOutcome::Kind::answered) {
    return client::error_without_response(outcome);
  }
  if (outcome.status >= kFirstRefusedStatus) {
    return client::error_of_response(outcome);
  }
  return std::move(outcome.body);
}

}  // namespace holdfast::cli

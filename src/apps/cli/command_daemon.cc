// The commands on the daemon itself, except `daemon up`.
#include <fmt/format.h>
#include <poll.h>

#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"
#include "apps/cli/json_rows.h"
#include "apps/daemon/daemon_join.h"

namespace holdfast::cli {

namespace {

struct DaemonDownCommand {
  std::string home = {};
  std::uint64_t timeout_s = 40;

  void declare(Arguments& arguments) {
    add_daemon_home(arguments, home);
    arguments.option("--timeout", "SECONDS", timeout_s,
                     "How long to wait until the daemon has ended (default: 40)");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(auto backend, DaemonBackend::open(home));
    HOLDFAST_CHECK(backend.send({"POST", "/v1/stop", "", true}));
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    constexpr std::uint64_t kTriesPerSecond = 20;
    for (std::uint64_t i = 0; i < timeout_s * kTriesPerSecond; ++i) {
      // The kernel releases the lock when the process has ended.
      if (folder.lock().ok()) {
        print_result(context, "stopped",
                     [](JsonWriter& json) { json.member("status", "stopped"); });
        return {};
      }
      ::poll(nullptr, 0, 1000 / static_cast<int>(kTriesPerSecond));
    }
    return Error{ErrorCode::busy, "the daemon has not ended in time"};
  }
};

struct DaemonStatusCommand {
  std::string home = {};

  void declare(Arguments& arguments) { add_daemon_home(arguments, home); }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(auto backend, DaemonBackend::open(home));
    HOLDFAST_TRY(const std::string body, backend.send({"GET", "/v1/health"}));
    HOLDFAST_TRY(const Json json, Json::parse(body));
    const JsonRow row(json);
    if (row.truth("degraded")) {
      context.exit_code = kExitDegraded;
    }
    if (context.json()) {
      print_body(context, body);
      return {};
    }
    print_line(context, fmt::format("daemon {} (pid {}), member {} of workspace {}",
                                    row.text("daemon_version"), row.text("pid"), row.text("member"),
                                    row.text("mesh")));
    print_line(context, row.truth("connected") ? "connected to " + row.text("broker")
                                               : std::string("not connected"));
    print_line(context, row.text("receiving").empty()
                            ? std::string("not receiving")
                            : fmt::format("receiving by {}, {} unread", row.text("receiving"),
                                          row.text("unread")));
    print_line(context,
               fmt::format("outbox: {} pending, {} inflight, {} dead", row.text("queue_depth"),
                           row.text("inflight"), row.text("dead")));
    for (std::size_t i = 0; i < json.find("reasons")->size(); ++i) {
      print_line(context,
                 fmt::format("degraded: {}", json.find("reasons")->item(i).string().value_or("")));
    }
    return {};
  }
};

struct DaemonVersionCommand {
  std::string home = {};

  void declare(Arguments& arguments) { add_daemon_home(arguments, home); }

  Result<void> run(Context& context) const {
    return call_daemon(home, context, {"GET", "/v1/version"}, [&](const Json& json) {
      const JsonRow row(json);
      print_line(context,
                 fmt::format("daemon {}, interface {}, workspace {}", row.text("daemon_version"),
                             row.text("ipc_api"), row.text("mesh")));
    });
  }
};

struct DaemonJoinCommand {
  std::string link = {};
  std::string name = {};
  std::string home = {};
  std::string tls_ca = {};

  void declare(Arguments& arguments) {
    arguments.required("LINK", link, "the link of `holdfast broker member invite`");
    arguments.option("--name", "NAME", name, "Display name of the member");
    arguments.require("--name");
    add_daemon_home(arguments, home);
    arguments.option("--tls-ca", "FILE", tls_ca,
                     "PEM file of the certificate authorities to trust for the broker (default: "
                     "the system's)");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    HOLDFAST_CHECK(folder.prepare());
    HOLDFAST_TRY(const auto lock, folder.lock());
    HOLDFAST_TRY(const auto config,
                 delivery::join_workspace(folder, {link, name, tls_ca}, context.random));
    print_result(context,
                 fmt::format("joined workspace {} as {}; `holdfast daemon up` starts the daemon",
                             config.workspace, name),
                 [&](JsonWriter& json) {
                   json.member("workspace", config.workspace)
                       .member("name", name)
                       .member("home", folder.path());
                 });
    return {};
  }
};

struct DaemonLeaveCommand {
  std::string home = {};
  bool force = false;

  void declare(Arguments& arguments) {
    add_daemon_home(arguments, home);
    arguments.flag("--force", force,
                   "Also if messages wait in the outbox, or the broker cannot be reached");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    HOLDFAST_CHECK(folder.prepare());
    HOLDFAST_TRY(const auto lock, folder.lock());
    HOLDFAST_CHECK(delivery::leave_workspace(
        folder, force ? delivery::LeaveMode::forced : delivery::LeaveMode::careful, context.clock,
        context.random));
    print_result(context, "left the workspace",
                 [](JsonWriter& json) { json.member("status", "left"); });
    return {};
  }
};

struct DaemonRotateTokenCommand {
  std::string home = {};

  void declare(Arguments& arguments) { add_daemon_home(arguments, home); }

  Result<void> run(Context& context) const {
    return call_daemon(home, context, {"POST", "/v1/token/rotate"}, [&](const Json& /*json*/) {
      print_line(context, "the file local_token holds a new token; the old one works for 60 s");
    });
  }
};

}  // namespace

extern const Command kDaemonDownCommand = make_command<DaemonDownCommand>(
    "daemon down", "Stop the daemon, and wait until it has ended.",
    R"(Requests in flight are answered; messages that are not sent yet stay in the outbox.

Exit codes: 7 no daemon runs.

Examples:
  holdfast daemon down)");

extern const Command kDaemonStatusCommand = make_command<DaemonStatusCommand>(
    "daemon status", "Show whether the daemon is connected, and what waits in its outbox.",
    R"(Exit codes: 7 no daemon runs, 8 degraded: not connected, a pause that the broker requires, or
little space left.

Examples:
  holdfast daemon status
  holdfast daemon status --json)");

extern const Command kDaemonVersionCommand = make_command<DaemonVersionCommand>(
    "daemon version", "Show the version of the daemon that runs.",
    R"(Exit codes: 7 no daemon runs.

Examples:
  holdfast daemon version)");

extern const Command kDaemonJoinCommand = make_command<DaemonJoinCommand>(
    "daemon join", "Make this daemon a member of a workspace.",
    R"(The link can be used once. The daemon makes a key pair, registers the public key under the
name, and keeps its token in its folder. Bodies are not encrypted yet: join workspaces with plain
bodies.

Examples:
  holdfast daemon join 'http://127.0.0.1:7718/join#hfi_…' --name ann)");

extern const Command kDaemonLeaveCommand = make_command<DaemonLeaveCommand>(
    "daemon leave", "End the membership of this daemon.",
    R"(Ends the membership at the broker, and removes the settings, the token and the key; the
outbox and the inbox stay.

Exit codes: 4 messages wait in the outbox; 5 the daemon runs, or the broker cannot be reached.

Examples:
  holdfast daemon leave)");

extern const Command kDaemonRotateTokenCommand = make_command<DaemonRotateTokenCommand>(
    "daemon rotate-token", "Replace the token for programs on the loopback address.",
    R"(The old token is accepted for 60 seconds more. Programs on the unix socket need none.

Examples:
  holdfast daemon rotate-token)");

}  // namespace holdfast::cli

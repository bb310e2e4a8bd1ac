// The commands that care for a daemon: its log and settings, damaged files, and its end.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/json_rows.h"
#include "apps/daemon/daemon_join.h"
#include "delivery/daemon/inbox_schema.h"
#include "delivery/daemon/outbox_schema.h"

namespace holdfast::cli {

namespace {

using delivery::DaemonFolder;

struct DaemonLogsCommand {
  bool follow = false;
  std::uint64_t lines = 50;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.flag("--follow", follow, "Continue with new lines, until Ctrl-C");
    arguments.option("--lines", "N", lines, "The last lines to print (default: 50)");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    const std::string path = folder.file("daemon.log");
    const auto text = folder.read("daemon.log");
    if (!text.ok()) {
      return advised(text.error(), fmt::format("there is no log in {}: only a daemon in the "
                                               "background writes one",
                                               folder.path()));
    }
    context.out << last_lines(text.value());
    context.out.flush();
    return follow ? follow_file(context, path, text.value().size()) : Result<void>();
  }

 private:
  [[nodiscard]] std::string_view last_lines(std::string_view text) const {
    std::size_t at = text.size();
    for (std::uint64_t found = 0; at > 0; --at) {
      if (text[at - 1] == '\n' && at != text.size() && ++found == lines) {
        break;
      }
    }
    return text.substr(lines == 0 ? text.size() : at);
  }

  // The log of that name, also when it was replaced by a new one.
  static Result<void> follow_file(Context& context, const std::string& path, std::size_t from) {
    constexpr int kLookAgainMs = 100;
    const Interrupt interrupt([] {});
    std::array<char, 4096> buffer{};
    while (!interrupt.came()) {
      const OwnedFd in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat status {};
      if (in.is_open() && ::fstat(in.get(), &status) == 0) {
        from = static_cast<std::size_t>(status.st_size) < from ? 0 : from;
        ssize_t got = 0;
        while ((got = ::pread(in.get(), buffer.data(), buffer.size(), static_cast<off_t>(from))) >
               0) {
          context.out.write(buffer.data(), got);
          from += static_cast<std::size_t>(got);
        }
        context.out.flush();
      }
      ::poll(nullptr, 0, kLookAgainMs);
    }
    return {};
  }
};

struct DaemonReloadCommand {
  std::string home = {};

  void declare(Arguments& arguments) { add_daemon_home(arguments, home); }

  Result<void> run(Context& context) const {
    return call_daemon(home, context, {"POST", "/v1/reload", "", true}, [&](const Json& json) {
      const std::string later = JsonRow(json).names("restart_for");
      print_line(context, later.empty() ? std::string("the settings were read again")
                                        : "the settings were read again; these count after a "
                                          "restart: " +
                                              later);
    });
  }
};

// One of the two files, of a daemon that does not run.
struct StoredFile {
  std::string_view name;
  const delivery::DaemonFileKind& kind;
};

std::string file_state(const DaemonFolder& folder, const StoredFile& file) {
  if (!folder.has(file.name)) {
    return "missing; the next start makes one";
  }
  const auto opened = delivery::open_daemon_file(file.kind, folder.file(file.name),
                                                 std::chrono::milliseconds(1000));
  return opened.ok() ? "sound" : opened.error().message();
}

struct DaemonRecoverCommand {
  std::string fresh = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.option("--fresh", "FILE", fresh,
                     "Put this file aside and begin a new one: outbox or inbox");
    arguments.restrict_to("--fresh", {"outbox", "inbox"});
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    HOLDFAST_CHECK(folder.prepare());
    HOLDFAST_TRY(const auto lock, folder.lock());
    if (!fresh.empty()) {
      HOLDFAST_CHECK(put_aside(context, folder, fresh + ".db"));
    }
    const std::array files{StoredFile{"outbox.db", delivery::outbox_file_kind()},
                           StoredFile{"inbox.db", delivery::inbox_file_kind()}};
    JsonWriter json;
    json.begin_object();
    for (const StoredFile& file : files) {
      const std::string state = file_state(folder, file);
      const bool sound = state == "sound" || state.starts_with("missing");
      context.exit_code = sound ? context.exit_code : kExitNegativeResult;
      if (context.json()) {
        json.member(file.name, state);
      } else {
        print_line(context, fmt::format("{}: {}", file.name, state));
      }
    }
    json.end_object();
    if (context.json()) {
      print_json(context, std::move(json));
    }
    return {};
  }

 private:
  static Result<void> put_aside(Context& context, const DaemonFolder& folder,
                                const std::string& name) {
    if (!folder.has(name)) {
      return Error{ErrorCode::not_found, fmt::format("{} does not exist", folder.file(name))};
    }
    const std::string copy = fmt::format("{}.old-{}", name, context.clock.now().value);
    for (const std::string_view part : {"-wal", "-shm", ""}) {
      std::error_code failed;
      std::filesystem::rename(folder.file(name + std::string(part)),
                              folder.file(copy + std::string(part)), failed);
      if (failed && part.empty()) {
        return Error{ErrorCode::io_error,
                     fmt::format("cannot rename {}: {}", folder.file(name), failed.message())};
      }
    }
    warn(fmt::format("{} is kept as {}", name, copy));
    return {};
  }
};

// Removes the folder with everything in it.
Result<void> wipe(const DaemonFolder& folder) {
  std::error_code failed;
  std::filesystem::remove_all(folder.path(), failed);
  return failed ? Error{ErrorCode::io_error,
                        fmt::format("cannot remove {}: {}", folder.path(), failed.message())}
                : Result<void>();
}

Result<void> check_consent(bool yes, std::string_view what) {
  return yes ? Result<void>()
             : Error{ErrorCode::invalid_argument,
                     fmt::format("this removes {}; add --yes to do it", what)};
}

struct DaemonResetCommand {
  bool yes = false;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.flag("--yes", yes, "Remove everything");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    HOLDFAST_CHECK(check_consent(yes, "the keys, the outbox and the inbox in " + folder.path()));
    HOLDFAST_CHECK(folder.prepare());
    HOLDFAST_TRY(const auto lock, folder.lock());
    HOLDFAST_CHECK(wipe(folder));
    print_result(context, folder.path() + " is removed; the broker still knows the member",
                 [](JsonWriter& json) { json.member("status", "reset"); });
    return {};
  }
};

struct DaemonUninstallCommand {
  bool yes = false;
  bool force = false;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.flag("--yes", yes, "End the membership and remove everything");
    arguments.flag("--force", force,
                   "Also if messages wait in the outbox, or the broker cannot be reached");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    HOLDFAST_CHECK(check_consent(yes, "the member from its workspace, and " + folder.path()));
    HOLDFAST_CHECK(folder.prepare());
    HOLDFAST_TRY(const auto lock, folder.lock());
    if (folder.has("member.json")) {
      HOLDFAST_CHECK(delivery::leave_workspace(
          folder, force ? delivery::LeaveMode::forced : delivery::LeaveMode::careful, context.clock,
          context.random));
    }
    HOLDFAST_CHECK(wipe(folder));
    print_result(context, "the membership has ended; " + folder.path() + " is removed",
                 [](JsonWriter& json) { json.member("status", "uninstalled"); });
    return {};
  }
};

}  // namespace

extern const Command kDaemonLogsCommand = make_command<DaemonLogsCommand>(
    "daemon logs", "Print the log of the daemon in the background.",
    R"(The log is kept below 100 MB and 14 days: daemon.log, daemon.log.1, ...

Examples:
  holdfast daemon logs
  holdfast daemon logs --follow)");

extern const Command kDaemonReloadCommand = make_command<DaemonReloadCommand>(
    "daemon reload", "Let the daemon read config.json again.",
    R"(Limits, retention and back-off change at once, and connections stay. Settings that count
after a restart only are named. A file that is not valid changes nothing.

Exit codes: 7 no daemon runs.

Examples:
  holdfast daemon reload)");

extern const Command kDaemonRecoverCommand = make_command<DaemonRecoverCommand>(
    "daemon recover", "Check the files of a daemon that does not start, or begin new ones.",
    R"(Without an option nothing changes. With --fresh the file is kept under another name: messages
of the outbox that were not sent are lost then, and messages of the inbox are no longer listed.

Exit codes: 1 a file is damaged; 5 the daemon runs.

Examples:
  holdfast daemon recover
  holdfast daemon recover --fresh outbox)");

extern const Command kDaemonResetCommand = make_command<DaemonResetCommand>(
    "daemon reset", "Remove the daemon's folder: keys, outbox and inbox.",
    R"(Ids of messages are then known to the broker only. The broker still knows the member:
`holdfast daemon uninstall` ends the membership too.

Exit codes: 5 the daemon runs.

Examples:
  holdfast daemon reset --yes)");

extern const Command kDaemonUninstallCommand = make_command<DaemonUninstallCommand>(
    "daemon uninstall", "End the membership, and remove the daemon's folder.",
    R"(Exit codes: 4 messages wait in the outbox; 5 the daemon runs, or the broker cannot be
reached.

Examples:
  holdfast daemon uninstall --yes)");

}  // namespace holdfast::cli

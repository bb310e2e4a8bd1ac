#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "apps/cli/cli_run.h"
#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/rotating_log.h"
#include "apps/cli/stop_event.h"
#include "apps/daemon/daemon_server.h"

namespace holdfast::cli {

namespace {

using delivery::DaemonServer;
using delivery::TcpMode;
using std::chrono::seconds;

constexpr const char* kReadyVariable = "HOLDFAST_DAEMON_READY_FD";

// Notifies the process that started this one in the background.
void notify_ready() {
  const char* const number = getenv(kReadyVariable);
  if (number == nullptr) {
    return;
  }
  const OwnedFd ready(std::atoi(number));
  const ssize_t written = ::write(ready.get(), "r", 1);
  static_cast<void>(written);  // without it the end of the pipe reports a failed start
  ::unsetenv(kReadyVariable);
}

struct DaemonUpCommand {
  std::string home = {};
  bool foreground = false;
  std::string tcp = {};
  std::string log = "text";
  std::string log_level = "info";
  std::uint64_t grace_s = 20;
  std::string log_file = {};

  void declare(Arguments& arguments) {
    add_daemon_home(arguments, home);
    arguments.flag("--foreground", foreground, "Run in this process, and log to standard error");
    arguments.option("--tcp", "WHEN", tcp,
                     "Also listen on the loopback address: on, off, or automatic: not in a "
                     "container (default: as configured, else automatic)");
    arguments.restrict_to("--tcp", {"automatic", "on", "off"});
    arguments.option("--log", "FORMAT", log, "Format of the log (default: text)");
    arguments.restrict_to("--log", {"text", "json"});
    arguments.option("--log-file", "FILE", log_file,
                     "With --foreground: log to this file, which is kept below 100 MB, instead of "
                     "standard error");
    arguments.need("--log-file", "--foreground");
    arguments.option("--log-level", "LEVEL", log_level, "Least level to log (default: info)");
    arguments.restrict_to("--log-level", {"debug", "info", "warning", "error"});
    arguments.option("--grace", "SECONDS", grace_s,
                     "Time for requests in flight to finish at shutdown (default: 20)");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    auto done = foreground ? serve(folder, context) : start_in_background(folder, context);
    if (!done.ok() && (done.error().code() == ErrorCode::not_found ||
                       done.error().code() == ErrorCode::invalid_argument)) {
      return std::move(done).error().with(kExitCodeField, kExitConfiguration);
    }
    return done;
  }

 private:
  Result<void> serve(const delivery::DaemonFolder& folder, Context& context) const {
    const auto level = enum_from<LogLevel>(log_level);
    HOLDFAST_ASSERT(level.has_value());  // the option takes no other word
    RotatingLog file(log_file);
    if (!log_file.empty()) {
      HOLDFAST_CHECK(file.open());
    }
    ServerLog logger(
        context.clock, *level, log == "json" ? LogForm::json : LogForm::text,
        [&](std::string_view line) { log_file.empty() ? write_log_line(line) : file.write(line); });
    StopEvent end;
    delivery::DaemonOptions options;
    options.version = HOLDFAST_VERSION;
    options.tcp = tcp.empty() ? std::nullopt : enum_from<TcpMode>(tcp);
    options.on_stop = [&end](std::optional<Error> why) { end.set(std::move(why)); };
    auto started = DaemonServer::start(folder, options, context.clock, context.random, logger);
    if (!started.ok()) {
      logger.write(LogLevel::error, "the daemon could not start",
                   {{"reason", started.error().text()}});
      return started.error();
    }
    const auto server = std::move(started).value();
    Interrupt interrupt([&] { end.set(); });
    for (const std::string& url : server->urls()) {
      logger.write(LogLevel::info, "listening", {{"url", url}});
      if (context.json()) {
        JsonWriter json;
        json.begin_object().member("url", url).end_object();
        print_json(context, std::move(json));
      }
    }
    context.out.flush();
    notify_ready();
    const std::optional<Error> why = end.wait();
    logger.write(LogLevel::info, "stopping", {{"grace_s", std::to_string(grace_s)}});
    const bool in_time = server->stop(seconds(grace_s));
    logger.write(in_time ? LogLevel::info : LogLevel::warning,
                 in_time ? "stopped" : "stopped; some requests did not finish in time");
    return why.has_value() ? Error(*why).with(kExitCodeField, kExitNotAuthenticated)
                           : Result<void>();
  }

  // A process of its own session, whose log is a file of the folder. Returns when it listens.
  Result<void> start_in_background(const delivery::DaemonFolder& folder, Context& context) const {
    HOLDFAST_CHECK(folder.prepare());
    {
      HOLDFAST_TRY(const auto free, folder.lock());  // a clear error, before there is a process
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), 0) != 0) {
      return Error{ErrorCode::io_error, fmt::format("no pipe: {}", std::strerror(errno))};
    }
    const OwnedFd reading(ends[0]);
    OwnedFd writing(ends[1]);
    ::fcntl(reading.get(), F_SETFD, FD_CLOEXEC);
    const std::string log_file_name = folder.file("daemon.log");
    const OwnedFd log_fd(
        ::open(log_file_name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!log_fd.is_open()) {
      return Error{ErrorCode::io_error,
                   fmt::format("cannot open {}: {}", log_file_name, std::strerror(errno))};
    }
    HOLDFAST_TRY(const pid_t child,
                 spawn(folder.path(), log_file_name, log_fd.get(), writing.get()));
    writing.close();
    char ready = 0;
    if (::read(reading.get(), &ready, 1) == 1) {
      print_result(
          context,
          fmt::format("daemon started (pid {}); log: {}; `holdfast daemon down` stops it", child,
                      log_file_name),
          [&](JsonWriter& json) {
            json.member("pid", static_cast<std::uint64_t>(child)).member("log", log_file_name);
          });
      return {};
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    Error failure{ErrorCode::unavailable,
                  fmt::format("the daemon could not start; its log is {}", log_file_name)};
    return WIFEXITED(status) ? std::move(failure).with(
                                   kExitCodeField, static_cast<std::uint64_t>(WEXITSTATUS(status)))
                             : std::move(failure);
  }

  [[nodiscard]] Result<pid_t> spawn(const std::string& path, const std::string& log_name,
                                    int log_fd, int ready_fd) const {
    ::setenv(kReadyVariable, std::to_string(ready_fd).c_str(), 1);
    std::vector<std::string> words{"holdfast",    "daemon",  "up",      "--foreground",
                                   "--home",      path,      "--log",   log,
                                   "--log-level", log_level, "--grace", std::to_string(grace_s),
                                   "--log-file",  log_name};
    if (!tcp.empty()) {
      words.insert(words.end(), {"--tcp", tcp});
    }
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, log_fd, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, log_fd, STDERR_FILENO);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t child = 0;
    const int failed =
        ::posix_spawn(&child, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ::unsetenv(kReadyVariable);
    if (failed != 0) {
      return Error{ErrorCode::io_error,
                   fmt::format("cannot start the daemon: {}", std::strerror(failed))};
    }
    return child;
  }
};

}  // namespace

extern const Command kDaemonUpCommand = make_command<DaemonUpCommand>(
    "daemon up", "Start the daemon that sends the messages of this machine.",
    R"(Programs hand their messages to the daemon with one local call; it keeps them on disk until
a broker has accepted them, across crashes of the daemon and outages of the broker. `holdfast daemon
join` makes it a member of a workspace first.

The folder of the daemon is accessible to its user only. It holds the unix socket `sock`; programs
that use the loopback address read the port from `http.port` and the token from `local_token`.

What a broker delivers is stored in the inbox, shown to programs, and then acknowledged. So far the
daemon runs no hooks and encrypts nothing.

Exit codes: 9 the membership has ended; 78 the configuration does not allow a start.

Examples:
  holdfast daemon up
  holdfast daemon up --foreground --log json
  curl --unix-socket ~/.holdfast/daemon/sock http://localhost/v1/health)");

}  // namespace holdfast::cli

// The daemon as a service of systemd.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/cli/cli_run.h"
#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"

namespace holdfast::cli {

namespace {

constexpr std::string_view kUnitName = "holdfast-daemon.service";

bool in_ci() {
  for (const char* const name :
       {"CI", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI", "JENKINS_URL"}) {
    const char* const value = getenv(name);
    if (value != nullptr && *value != '\0') {
      return true;
    }
  }
  return false;
}

// Of the user, or of the machine.
Result<std::filesystem::path> unit_file(bool system) {
  if (system) {
    return std::filesystem::path("/etc/systemd/system") / kUnitName;
  }
  const char* const config = getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config != '\0') {
    return std::filesystem::path(config) / "systemd/user" / kUnitName;
  }
  const char* const user = getenv("HOME");
  if (user == nullptr || *user == '\0') {
    return Error{ErrorCode::invalid_argument, "the variable HOME is not set"};
  }
  return std::filesystem::path(user) / ".config/systemd/user" / kUnitName;
}

// 9 and 78: another start would end in the same way.
constexpr std::string_view kUnit = R"([Unit]
Description=Holdfast daemon
Documentation=man:holdfast(1)
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
ExecStart={program} daemon up --foreground --home {home} --log-file {home}/daemon.log
KillSignal=SIGTERM
TimeoutStopSec=60
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=9 78
MemoryMax=256M
TasksMax=256
LimitNOFILE=4096
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={home}
{user}
[Install]
WantedBy={target}
)";

struct DaemonInstallServiceCommand {
  bool system = false;
  bool in_ci_too = false;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.flag("--system", system,
                   "For the machine, as the user of this command, instead of "
                   "for this user's sessions");
    arguments.flag("--allow-ci-persistent", in_ci_too, "Also on a machine of a CI system");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    if (in_ci() && !in_ci_too) {
      return Error{ErrorCode::invalid_argument,
                   "this is a machine of a CI system, which does not keep a service; "
                   "--allow-ci-persistent installs it all the same"}
          .with(kExitCodeField, kExitConfiguration);
    }
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    HOLDFAST_TRY(const auto file, unit_file(system));
    std::error_code failed;
    std::filesystem::create_directories(file.parent_path(), failed);
    std::ofstream out(file);
    out << fmt::format(kUnit, fmt::arg("program", program()),
                       fmt::arg("home", std::filesystem::absolute(folder.path()).string()),
                       fmt::arg("user", system ? fmt::format("User={}\n", ::getuid()) : ""),
                       fmt::arg("target", system ? "multi-user.target" : "default.target"));
    out.close();
    if (!out) {
      return Error{ErrorCode::permission_denied, "cannot write " + file.string()};
    }
    const std::string start =
        fmt::format("systemctl {}enable --now {}", system ? "" : "--user ", kUnitName);
    print_result(
        context, fmt::format("{} is written; `{}` starts it", file.string(), start),
        [&](JsonWriter& json) { json.member("unit", file.string()).member("start", start); });
    return {};
  }

 private:
  static std::string program() {
    std::error_code failed;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::string("/usr/bin/holdfast") : path.string();
  }
};

struct DaemonUninstallServiceCommand {
  bool system = false;

  void declare(Arguments& arguments) { arguments.flag("--system", system, "That of the machine"); }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto file, unit_file(system));
    std::error_code failed;
    if (!std::filesystem::remove(file, failed)) {
      return Error{
          failed ? ErrorCode::permission_denied : ErrorCode::not_found,
          failed ? "cannot remove " + file.string() : "there is no service " + file.string()};
    }
    print_result(context,
                 fmt::format("{} is removed; `systemctl {}stop {}` stops a daemon that runs",
                             file.string(), system ? "" : "--user ", kUnitName),
                 [&](JsonWriter& json) { json.member("unit", file.string()); });
    return {};
  }
};

}  // namespace

extern const Command kDaemonInstallServiceCommand = make_command<DaemonInstallServiceCommand>(
    "daemon install-service", "Install the daemon as a service of systemd.",
    R"(Writes a unit that starts the daemon with the session of this user, or with the machine, and
prints the command that starts it now. systemd does not start it again when the membership has
ended or the configuration is refused.

Exit codes: 78 on a machine of a CI system.

Examples:
  holdfast daemon install-service)");

extern const Command kDaemonUninstallServiceCommand = make_command<DaemonUninstallServiceCommand>(
    "daemon uninstall-service", "Remove the service of systemd.",
    R"(The files of the daemon stay.

Examples:
  holdfast daemon uninstall-service)");

}  // namespace holdfast::cli

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"
#include "apps/cli/json_rows.h"
#include "apps/daemon/daemon_join.h"

namespace holdfast::cli {

namespace {

using delivery::DaemonFolder;

struct Finding {
  std::string check;
  std::string fault;  // empty: none
};

class Doctor {
 public:
  explicit Doctor(const DaemonFolder& folder) : folder_(folder) {}

  std::vector<Finding> examine(const std::string& home) {
    check_folder();
    check_settings();
    check_files();
    check_space();
    check_process(home);
    return std::move(findings_);
  }

 private:
  void report(std::string check, std::string fault) {
    findings_.push_back({std::move(check), std::move(fault)});
  }

  void check_folder() {
    struct stat status {};
    if (::stat(folder_.path().c_str(), &status) != 0) {
      return report("folder", folder_.path() + " does not exist; `holdfast daemon join` makes it");
    }
    const auto sound = folder_.prepare();
    report("folder", sound.ok() ? "" : sound.error().message());
  }

  void check_settings() {
    const auto config = read_daemon_config(folder_);
    report("config.json", config.ok() ? "" : config.error().message());
    const auto member = read_daemon_member(folder_);
    report("member.json", member.ok() ? "" : member.error().message());
    if (folder_.has("keypair.json")) {
      const auto key = delivery::read_key_pair(folder_);
      std::string fault;
      if (!key.ok()) {
        fault = "keypair.json cannot be read: " + key.error().message();
      } else if (member.ok() && key.value().ed25519_public != member.value().pubkey) {
        fault = "keypair.json has another key than member.json";
      }
      report("keypair.json", fault);
    }
  }

  void check_files() {
    for (const std::string_view name :
         {"member.json", "keypair.json", "local_token", "outbox.db", "inbox.db"}) {
      struct stat status {};
      if (::stat(folder_.file(name).c_str(), &status) == 0 && (status.st_mode & 0077U) != 0) {
        report(std::string(name) + " mode",
               fmt::format("others may read it: chmod 600 {}", folder_.file(name)));
      }
    }
  }

  void check_space() {
    constexpr std::uint64_t kLeastBytes = 64U << 20U;
    struct statvfs space {};
    if (::statvfs(folder_.path().c_str(), &space) != 0) {
      return;
    }
    const std::uint64_t free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
    report("disk",
           free_bytes < kLeastBytes ? fmt::format("only {} MiB are free", free_bytes >> 20U) : "");
  }

  // The lock says whether a daemon runs, the socket whether it answers.
  void check_process(const std::string& home) {
    bool runs = false;
    {
      const auto lock = folder_.lock();
      runs = !lock.ok() && lock.error().code() == ErrorCode::busy;
    }
    auto backend = DaemonBackend::open(home);
    const auto health =
        backend.ok() ? backend.value().send({"GET", "/v1/health"}) : backend.error();
    if (!runs) {
      return report("process", health.ok()
                                   ? "a daemon answers that does not hold the lock of the folder: "
                                     "stop it, and start one with `holdfast daemon up`"
                                   : "no daemon runs; `holdfast daemon up` starts one");
    }
    if (!health.ok()) {
      return report("process", "a daemon runs, but does not answer at its socket: " +
                                   health.error().message());
    }
    report("process", "");
    check_health(health.value());
  }

  void check_health(const std::string& body) {
    const auto json = Json::parse(body);
    if (!json.ok()) {
      return report("health", "the daemon does not answer like a daemon");
    }
    const auto reasons = json.value().find("reasons");
    for (std::size_t i = 0; reasons.has_value() && i < reasons->size(); ++i) {
      report("health", std::string(reasons->item(i).string().value_or("")));
    }
    const JsonRow row(json.value());
    report("outbox", row.number("dead") == 0
                         ? ""
                         : fmt::format("{} messages were refused: `holdfast outbox list --failed`",
                                       row.number("dead")));
  }

  const DaemonFolder& folder_;
  std::vector<Finding> findings_;
};

struct DaemonDoctorCommand {
  std::string home = {};

  void declare(Arguments& arguments) { add_daemon_home(arguments, home); }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto folder, daemon_folder_of(home));
    const std::vector<Finding> findings = Doctor(folder).examine(home);
    JsonWriter json;
    json.begin_object().key("checks").begin_array();
    for (const Finding& finding : findings) {
      context.exit_code = finding.fault.empty() ? context.exit_code : kExitNegativeResult;
      if (context.json()) {
        json.begin_object().member("check", finding.check);
        json.member("ok", finding.fault.empty()).member("fault", finding.fault).end_object();
      } else {
        print_line(context, fmt::format("{}: {}", finding.check,
                                        finding.fault.empty() ? "ok" : finding.fault));
      }
    }
    json.end_array().end_object();
    if (context.json()) {
      print_json(context, std::move(json));
    }
    return {};
  }
};

}  // namespace

extern const Command kDaemonDoctorCommand = make_command<DaemonDoctorCommand>(
    "daemon doctor", "Look for what is wrong with the daemon of this machine.",
    R"(Checks the folder and its modes, the settings and keys, the free space, whether the daemon
runs and answers, and its health.

Exit codes: 1 a fault was found.

Examples:
  holdfast daemon doctor)");

}  // namespace holdfast::cli

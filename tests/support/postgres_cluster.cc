#include "tests/support/postgres_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/read_file.h"

namespace holdfast {

namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr std::chrono::seconds kStartDeadline{60};
constexpr std::chrono::seconds kExitDeadline{30};

Error failed(std::string message) { return Error{ErrorCode::io_error, std::move(message)}; }

std::optional<std::string> find_bin() {
  if (const char* const chosen = std::getenv("HOLDFAST_TEST_POSTGRES_BIN"); chosen != nullptr) {
    return fs::exists(std::string(chosen) + "/postgres") ? std::optional<std::string>(chosen)
                                                         : std::nullopt;
  }
  int newest = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (fs::exists(entry.path() / "bin/postgres")) {
      newest = std::max(newest, std::atoi(entry.path().filename().c_str()));
    }
  }
  return newest == 0 ? std::nullopt
                     : std::optional("/usr/lib/postgresql/" + std::to_string(newest) + "/bin");
}

// PostgreSQL refuses to run as root.
struct RunAs {
  uid_t user = 0;  // 0: the current user
  gid_t group = 0;
  rlim_t max_file_bytes = RLIM_INFINITY;
};

Result<RunAs> run_as() {
  if (geteuid() != 0) {
    return RunAs{};
  }
  const passwd* const entry = getpwnam("postgres");
  if (entry == nullptr) {
    return failed("PostgreSQL cannot run as root, and there is no user \"postgres\"");
  }
  return RunAs{.user = entry->pw_uid, .group = entry->pw_gid};
}

// Runs between fork and exec, so it may only call async-signal-safe functions. Never returns.
[[noreturn]] void become(char* const* arguments, RunAs who, int output, pid_t parent) {
  if (who.user != 0 &&
      (setgroups(1, &who.group) != 0 || setgid(who.group) != 0 || setuid(who.user) != 0)) {
    _exit(126);
  }
  // After setuid, which clears it. SIGQUIT makes the server end all its processes at once.
  if (prctl(PR_SET_PDEATHSIG, SIGQUIT) != 0 || getppid() != parent) {
    _exit(126);
  }
  if (who.max_file_bytes != RLIM_INFINITY) {
    const rlimit limit{who.max_file_bytes, who.max_file_bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  // A separate process group: ^C ends the test, and the test ends the server.
  setpgid(0, 0);
  execv(arguments[0], arguments);
  _exit(127);
}

pid_t spawn(const Arguments& arguments, RunAs who, int output) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(pointers.data(), who, output, parent);
  }
  return child;
}

struct Finished {
  int status = 0;
  std::string output;
};

Result<Finished> run(const Arguments& arguments, RunAs who) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return failed(std::string("pipe: ") + std::strerror(errno));
  }
  const pid_t child = spawn(arguments, who, ends[1]);
  close(ends[1]);
  Finished finished;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(ends[0], buffer, sizeof buffer)) > 0 || (count < 0 && errno == EINTR)) {
    finished.output.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  close(ends[0]);
  if (child < 0 || waitpid(child, &finished.status, 0) != child) {
    return failed("cannot run " + arguments.front() + ": " + std::strerror(errno));
  }
  return finished;
}

std::optional<int> free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = listener >= 0 && bind(listener, generic, length) == 0 &&
                     getsockname(listener, generic, &length) == 0;
  close(listener);
  return found ? std::optional<int>(ntohs(address.sin_port)) : std::nullopt;
}

// The parent of a process, from "pid (name) state ppid ..."; the name may hold anything.
std::optional<pid_t> parent_of(pid_t process) {
  const auto read = read_file("/proc/" + std::to_string(process) + "/stat", 4096);
  const std::string stat = read.ok() ? read.value() : "";  // the process has ended
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= stat.size()) {
    return std::nullopt;
  }
  return static_cast<pid_t>(std::atoi(stat.c_str() + name_end + 4));
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), process);
    if (parsed.ptr == name.data() + name.size() && parent_of(process) == parent) {
      children.push_back(process);
    }
  }
  return children;
}

// A process as a descriptor that becomes readable when the process ends.
class ProcessEnd {
 public:
  explicit ProcessEnd(pid_t process)
      : descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
  ProcessEnd(ProcessEnd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ProcessEnd& operator=(ProcessEnd&&) = delete;
  ~ProcessEnd() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  void wait(std::chrono::milliseconds at_most) const {
    pollfd end{descriptor_, POLLIN, 0};
    while (descriptor_ >= 0 && poll(&end, 1, static_cast<int>(at_most.count())) < 0 &&
           errno == EINTR) {
    }
  }

 private:
  int descriptor_;
};

}  // namespace

PostgresCluster::PostgresCluster(const Options& options, std::string bin)
    : bin_(std::move(bin)), parent_(options.parent), settings_(options.settings) {}

Result<std::unique_ptr<PostgresCluster>> PostgresCluster::create(const Options& options) {
  auto bin = find_bin();
  if (!bin.has_value()) {
    return failed("PostgreSQL server is missing: install the Debian package postgresql");
  }
  std::unique_ptr<PostgresCluster> cluster(new PostgresCluster(options, *std::move(bin)));
  HOLDFAST_CHECK(cluster->initialise(options));
  HOLDFAST_CHECK(cluster->start());
  return cluster;
}

PostgresCluster& PostgresCluster::shared() {
  static const std::unique_ptr<PostgresCluster> cluster = [] {
    auto made = create({});
    if (!made.ok()) {
      throw std::runtime_error(made.error().text());
    }
    return std::move(made).value();
  }();
  return *cluster;
}

PostgresCluster::~PostgresCluster() {
  kill_9();
  std::error_code ignored;
  if (!directory_.empty()) {
    fs::remove_all(directory_, ignored);
  }
}

Result<void> PostgresCluster::initialise(const Options& options) {
  HOLDFAST_TRY(const RunAs who, run_as());
  // Short: the path of a unix socket has at most 107 characters.
  std::string pattern = parent_ + "/hfpg.XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    return failed("cannot make a directory in " + parent_ + ": " + std::strerror(errno));
  }
  directory_ = pattern;
  if (who.user != 0 && chown(directory_.c_str(), who.user, who.group) != 0) {
    return failed("chown " + directory_ + ": " + std::strerror(errno));
  }
  // --no-sync: a crash of the machine ends the test too.
  Arguments arguments{
      bin_ + "/initdb", "-D",         directory_ + "/data", "-U", "postgres", "-A", "trust", "-E",
      "UTF8",           "--locale=C", "--no-sync"};
  arguments.insert(arguments.end(), options.initdb.begin(), options.initdb.end());
  HOLDFAST_TRY(const Finished made, run(arguments, who));
  if (made.status != 0) {
    return failed("initdb failed: " + made.output);
  }
  std::ofstream(directory_ + "/data/pg_hba.conf") << "local all all trust\n"
                                                     "host all locked 127.0.0.1/32 scram-sha-256\n"
                                                     "host all all 127.0.0.1/32 trust\n";
  const auto port = free_port();
  if (!port.has_value()) {
    return failed("no free port on 127.0.0.1");
  }
  port_ = *port;
  return {};
}

Result<void> PostgresCluster::start() {
  if (running()) {
    return {};
  }
  HOLDFAST_TRY(RunAs who, run_as());
  who.max_file_bytes = max_file_bytes_ == 0 ? RLIM_INFINITY : max_file_bytes_;
  Arguments arguments{bin_ + "/postgres", "-D", directory_ + "/data"};
  Arguments settings{"listen_addresses=127.0.0.1",
                     "port=" + std::to_string(port_),
                     "unix_socket_directories=" + directory_,
                     "fsync=on",
                     "max_connections=50",
                     "shared_buffers=16MB",
                     "logging_collector=off"};
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  for (const std::string& setting : settings) {
    arguments.insert(arguments.end(), {"-c", setting});
  }
  const int log =
      open((directory_ + "/server.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  server_ = spawn(arguments, who, log);
  close(log);
  if (server_ < 0) {
    return failed(std::string("fork: ") + std::strerror(errno));
  }
  return wait_until_ready();
}

// The server writes "ready" into its pid file. The only event it sends is its end, so this polls.
Result<void> PostgresCluster::wait_until_ready() {
  const auto deadline = std::chrono::steady_clock::now() + kStartDeadline;
  const ProcessEnd end(server_);
  while (std::chrono::steady_clock::now() < deadline) {
    if (!running()) {
      return failed("the PostgreSQL server ended at startup: " + log_tail());
    }
    std::ifstream file(directory_ + "/data/postmaster.pid");
    std::string line;
    std::string process;
    std::getline(file, process);
    while (std::getline(file, line)) {
      if (line.starts_with("ready") && process == std::to_string(server_)) {
        return {};
      }
    }
    end.wait(std::chrono::milliseconds(5));
  }
  kill_9();
  return failed("the PostgreSQL server did not become ready: " + log_tail());
}

std::string PostgresCluster::log_tail() const {
  const auto read = read_file(directory_ + "/server.log", 1U << 24U);
  const std::string log = read.ok() ? read.value() : read.error().text();
  return log.substr(log.size() - std::min<std::size_t>(log.size(), 2000));
}

bool PostgresCluster::running() {
  if (server_ > 0 && waitpid(server_, nullptr, WNOHANG) == server_) {
    server_ = -1;
  }
  return server_ > 0;
}

void PostgresCluster::kill_9() {
  if (!running()) {
    return;
  }
  // Stopped first, so that it starts no further processes while they are listed.
  kill(server_, SIGSTOP);
  std::vector<ProcessEnd> ends;
  for (const pid_t child : children_of(server_)) {
    ends.emplace_back(child);
    kill(child, SIGKILL);
  }
  kill(server_, SIGKILL);
  waitpid(server_, nullptr, 0);
  server_ = -1;
  for (const ProcessEnd& end : ends) {
    end.wait(kExitDeadline);
  }
}

void PostgresCluster::stop() {
  if (running()) {
    kill(server_, SIGINT);  // "fast": ends the sessions, writes a checkpoint
    waitpid(server_, nullptr, 0);
    server_ = -1;
  }
}

Result<void> PostgresCluster::restart() {
  stop();
  return start();
}

std::string PostgresCluster::url(std::string_view schema, Via via) const {
  const std::string port = std::to_string(port_);
  const std::string place =
      via == Via::tcp ? "postgres://postgres@127.0.0.1:" + port + "/postgres?"
                      : "postgres://postgres@/postgres?host=" + directory_ + "&port=" + port + "&";
  return place + "schema=" + std::string(schema);
}

Result<std::string> PostgresCluster::run_sql(const std::string& sql) const {
  HOLDFAST_TRY(
      Finished finished,
      run({bin_ + "/psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p",
           std::to_string(port_), "-U", "postgres", "-d", "postgres", "-c", sql},
          RunAs{}));
  if (finished.status != 0) {
    return failed("psql: " + finished.output);
  }
  while (finished.output.ends_with('\n')) {
    finished.output.pop_back();
  }
  return std::move(finished.output);
}

}  // namespace holdfast

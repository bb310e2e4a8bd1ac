#include "lab/bench/bench_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace holdfast {

namespace {

// Runs between fork and exec, so it calls only what is safe there.
[[noreturn]] void become(char* const* words, BenchAccount account, int output, pid_t parent) {
  if (account.user != 0 && (setgroups(1, &account.group) != 0 || setgid(account.group) != 0 ||
                            setuid(account.user) != 0)) {
    _exit(126);
  }
  // After setuid, which clears it.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
    _exit(126);
  }
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  setpgid(0, 0);  // ^C ends the benchmark, and the benchmark ends the service
  execvp(words[0], words);
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<BenchProcess>> BenchProcess::start(const std::vector<std::string>& words,
                                                          BenchAccount account,
                                                          const std::string& log) {
  const OwnedFd output(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!output.is_open()) {
    return Error{ErrorCode::io_error, fmt::format("cannot write {}", log)};
  }
  std::vector<char*> pointers;
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(pointers.data(), account, output.get(), parent);
  }
  if (child < 0) {
    return Error{ErrorCode::io_error,
                 fmt::format("cannot start {}: {}", words.front(), std::strerror(errno))};
  }
  std::unique_ptr<BenchProcess> process(new BenchProcess(child));
  process->end_with(SIGTERM);
  return process;
}

bool BenchProcess::running() {
  if (pid_ != 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) {
    pid_ = 0;
  }
  return pid_ != 0;
}

int BenchProcess::wait() {
  int status = 0;
  const bool ended = pid_ != 0 && waitpid(pid_, &status, 0) == pid_;
  pid_ = 0;
  return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

BenchProcess::~BenchProcess() {
  if (pid_ != 0) {
    kill(pid_, end_signal_);
    wait();
  }
}

Result<std::string> find_program(const std::string& name, const std::vector<std::string>& folders,
                                 const std::string& package) {
  const char* const path = std::getenv("PATH");
  std::istringstream parts(path == nullptr ? "" : path);
  std::vector<std::string> all = folders;
  for (std::string part; std::getline(parts, part, ':');) {
    all.push_back(part);
  }
  all.insert(all.end(), {"/usr/sbin", "/usr/bin"});
  for (const std::string& folder : all) {
    std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return Error{ErrorCode::not_found,
               fmt::format("{} is not installed; run: apt-get install {}", name, package)};
}

Result<std::uint16_t> free_loopback_port() {
  const OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener.is_open() || bind(listener.get(), generic, length) != 0 ||
      getsockname(listener.get(), generic, &length) != 0) {
    return Error{ErrorCode::io_error, "no free port on 127.0.0.1"};
  }
  return ntohs(address.sin_port);
}

Result<OwnedFd> connect_to_loopback(std::uint16_t port) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd.is_open() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot connect to 127.0.0.1:{}: {}", port, std::strerror(errno))};
  }
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

Result<OwnedFd> connect_to_socket(const std::string& path) {
  OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::invalid_argument, fmt::format("{} is too long for a socket", path)};
  }
  path.copy(address.sun_path, path.size());
  if (!fd.is_open() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot connect to {}: {}", path, std::strerror(errno))};
  }
  return fd;
}

}  // namespace holdfast

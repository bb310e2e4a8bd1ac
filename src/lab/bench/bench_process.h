// BenchProcess: a service that a benchmark starts on loopback and ends again, by its process id. It
// also ends when this process does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "holdfast/result.h"

namespace holdfast {

// An account, for services that refuse to run as root.
struct BenchAccount {
  uid_t user = 0;  // 0: the account of this process
  gid_t group = 0;
};

class BenchProcess {
 public:
  // words: the program, found as a shell finds it, and its arguments. Its output goes to the file.
  // io_error.
  static Result<std::unique_ptr<BenchProcess>> start(const std::vector<std::string>& words,
                                                     BenchAccount account, const std::string& log);
  // Sends the signal and waits for the end.
  ~BenchProcess();
  BenchProcess(const BenchProcess&) = delete;
  BenchProcess& operator=(const BenchProcess&) = delete;

  void end_with(int signal) { end_signal_ = signal; }
  [[nodiscard]] bool running();
  // Waits for the end; the exit code, or -1 after a signal.
  int wait();

 private:
  explicit BenchProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // 0: it has ended
  int end_signal_;
};

// The path of a program: in PATH or in one of the folders. not_found says which package has it.
Result<std::string> find_program(const std::string& name, const std::vector<std::string>& folders,
                                 const std::string& package);

// A port of 127.0.0.1 that is free now. io_error.
Result<std::uint16_t> free_loopback_port();
// unavailable.
Result<OwnedFd> connect_to_loopback(std::uint16_t port);
Result<OwnedFd> connect_to_socket(const std::string& path);

}  // namespace holdfast

// A broker process that kills itself at a fault point: see broker_victim.cc.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

class Victim {
 public:
  explicit Victim(std::vector<std::string> args) {
    std::vector<char*> raw;
    for (std::string& arg : args) {
      raw.push_back(arg.data());
    }
    raw.push_back(nullptr);
    int ends[2];
    HOLDFAST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    output_ = OwnedFd(ends[0]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    HOLDFAST_ASSERT(posix_spawn(&pid_, raw[0], &actions, nullptr, raw.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
  }
  ~Victim() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  // Whether it was killed before the deadline.
  bool wait_for_kill() {
    std::array<char, 64> text{};
    for (;;) {
      pollfd ready{output_.get(), POLLIN, 0};
      if (poll(&ready, 1, kDeadlineMs) <= 0) {
        return false;
      }
      if (read(output_.get(), text.data(), text.size()) <= 0) {
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      }
    }
  }

 private:
  static constexpr int kDeadlineMs = 120'000;

  pid_t pid_ = -1;
  OwnedFd output_;
};

}  // namespace holdfast::delivery

// BlockedSigpipe: third-party libraries write to sockets in a way that raises SIGPIPE. A library
// must not change how the process handles the signal: while an object of this class lives, the
// signal is blocked in the calling thread; then the one that was raised is removed.
#pragma once

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace holdfast {

class BlockedSigpipe {
 public:
  BlockedSigpipe() {
    sigemptyset(&only_);
    sigaddset(&only_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  ~BlockedSigpipe() {
    const timespec no_wait{};
    while (!was_pending_ && sigtimedwait(&only_, nullptr, &no_wait) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSigpipe(const BlockedSigpipe&) = delete;
  BlockedSigpipe& operator=(const BlockedSigpipe&) = delete;

 private:
  sigset_t only_ = {};
  sigset_t before_ = {};
  bool was_pending_ = false;
};

}  // namespace holdfast

#include "apps/cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "apps/cli/cli_context.h"

namespace holdfast::cli {

namespace {

// For the signal handler, which may run in any thread, also in two at once: the end of a pipe to
// the thread that reacts, and the number of signals.
std::atomic<int> signal_end = -1;
std::atomic<int> signals_seen = 0;
static_assert(std::atomic<int>::is_always_lock_free, "the signal handler needs it");

extern "C" void note_signal(int /*signal*/) {
  const int saved = errno;
  if (signals_seen.fetch_add(1) > 0) {
    // Without the checks of sanitizers on threads: they are in any state, as in a crash.
    std::quick_exit(kExitInterrupted);
  }
  const char byte = 's';
  static_cast<void>(!write(signal_end, &byte, 1));
  errno = saved;
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(std::function<void()> on_stop) : on_stop_(std::move(on_stop)) {
  signals_seen = 0;
  if (pipe2(pipe_.data(), O_CLOEXEC) != 0) {
    return;  // signals then terminate the program, as by default
  }
  if (!watcher_.start([this] { watch(); }).ok()) {
    close(pipe_[0]);
    close(pipe_[1]);
    return;  // likewise
  }
  signal_end = pipe_[1];
  set_handlers(note_signal);
}

// Does not end with the signal: until the destructor joins it, it is a thread that is running.
void Interrupt::watch() {
  for (char byte = 0; byte != 'q';) {
    const ssize_t got = read(pipe_[0], &byte, 1);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return;
    }
    if (got == 1 && byte == 's') {
      came_ = true;
      stop_.request_stop();
      on_stop_();
    }
  }
}

Interrupt::~Interrupt() {
  if (watcher_.empty()) {
    return;
  }
  set_handlers(SIG_DFL);
  const char byte = 'q';
  static_cast<void>(!write(pipe_[1], &byte, 1));
  watcher_.join();
  close(pipe_[0]);
  close(pipe_[1]);
}

}  // namespace holdfast::cli

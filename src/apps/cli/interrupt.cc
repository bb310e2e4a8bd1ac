#include "apps/cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "apps/cli/cli_context.h"

namespace holdfast::cli {

namespace {

// For the signal handler: a pipe to the thread that reacts, and the number of signals.
std::array<int, 2> signal_pipe{-1, -1};
volatile sig_atomic_t signals_seen = 0;

extern "C" void note_signal(int /*signal*/) {
  const int saved = errno;
  signals_seen = signals_seen + 1;
  if (signals_seen > 1) {
    _exit(kExitInterrupted);
  }
  const char byte = 's';
  static_cast<void>(!write(signal_pipe[1], &byte, 1));
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
  if (pipe2(signal_pipe.data(), O_CLOEXEC) != 0) {
    return;  // signals then terminate the program, as by default
  }
  const Result<void> started = watcher_.start([this] {
    char byte = 0;
    while (read(signal_pipe[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte == 's') {
      came_ = true;
      stop_.request_stop();
      on_stop_();
    }
  });
  if (!started.ok()) {
    close(signal_pipe[0]);
    close(signal_pipe[1]);
    return;  // likewise
  }
  set_handlers(note_signal);
}

Interrupt::~Interrupt() {
  if (watcher_.empty()) {
    return;
  }
  set_handlers(SIG_DFL);
  const char byte = 'q';
  static_cast<void>(!write(signal_pipe[1], &byte, 1));
  watcher_.join();
  close(signal_pipe[0]);
  close(signal_pipe[1]);
}

}  // namespace holdfast::cli

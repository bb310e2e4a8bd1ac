// A daemon that kills itself at a fault point: `holdfast daemon up` with the hooks set.
//
// Prints a line when it listens. The point is a number of OutboxFault, or 100 more than a number of
// InboxFault, or -1 for none; it dies when it is reached for the n-th time.
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "apps/daemon/daemon_server.h"
#include "base/clock.h"
#include "base/random.h"
#include "tests/support/worker_process.h"

namespace holdfast {
namespace {

constexpr int kInboxPoints = 100;

int be_a_victim(const std::string& home, int wanted, int times) {
  sigset_t term = live_with_parent();
  SystemClock clock;
  SystemRandom random;
  ServerLog log(clock, LogLevel::error, LogForm::text, [](std::string_view line) {
    LineFile::write_line(STDERR_FILENO, std::string(line));
  });
  std::atomic<int> reached{0};
  const auto reach = [&](int point) {
    if (point == wanted && ++reached == times) {
      kill(getpid(), SIGKILL);
    }
  };
  delivery::DaemonOptions options;
  options.version = "test";
  options.on_stop = [](const std::optional<Error>& /*why*/) { kill(getpid(), SIGTERM); };
  options.outbox_fault = [&](delivery::OutboxFault point) -> Result<void> {
    reach(static_cast<int>(point));
    return {};
  };
  options.inbox_fault = [&](delivery::InboxFault point) {
    reach(kInboxPoints + static_cast<int>(point));
  };
  const auto server = must(
      delivery::DaemonServer::start(delivery::DaemonFolder(home), options, clock, random, log));
  say("listening");
  int number = 0;
  sigwait(&term, &number);
  server->stop(std::chrono::seconds(10));
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  const auto args = holdfast::arguments(argc, argv, 4, "HOME POINT TIMES");
  return holdfast::be_a_victim(args[1], std::stoi(args[2]), std::stoi(args[3]));
}

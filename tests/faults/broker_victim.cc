// A broker that kills itself at a fault point: `holdfast broker serve` with the hook set.
//
// Prints a line when it listens. The point is a number of FaultPoint, -1 for none; it dies when it
// is reached for the n-th time.
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "apps/broker/broker_server.h"
#include "base/clock.h"
#include "base/random.h"
#include "tests/support/worker_process.h"

namespace holdfast {
namespace {

constexpr int kStarts = 10;

struct VictimArguments {
  std::string store;
  std::string limiter;
  std::string socket;
  int point = -1;
  int times = 1;
};

int be_a_victim(const VictimArguments& given) {
  sigset_t term = live_with_parent();
  SystemClock clock;
  SystemRandom random;
  ServerLog log(clock, LogLevel::error, LogForm::text, [](std::string_view line) {
    LineFile::write_line(STDERR_FILENO, std::string(line));
  });
  std::atomic<int> reached{0};
  delivery::BrokerHostOptions options;
  options.store = given.store;
  options.limiter = "memory:" + given.limiter;
  options.brokers = delivery::BrokerCount::single;
  options.fault = [&](delivery::FaultPoint point) -> Result<void> {
    if (static_cast<int>(point) == given.point && ++reached == given.times) {
      kill(getpid(), SIGKILL);
    }
    return {};
  };
  net::Options http;
  http.listen = {"unix:" + given.socket};
  auto started = delivery::BrokerServer::start(options, http, clock, random, log);
  // On a busy machine a database may not answer in time; a supervisor would start a broker again.
  for (int i = 1; i < kStarts && !started.ok() && started.error().code() == ErrorCode::unavailable;
       ++i) {
    started = delivery::BrokerServer::start(options, http, clock, random, log);
  }
  const auto server = must(std::move(started));
  say("listening");
  int number = 0;
  sigwait(&term, &number);
  server->stop(std::chrono::seconds(10));
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  const auto args = holdfast::arguments(argc, argv, 6, "STORE LIMITER_FILE SOCKET POINT TIMES");
  return holdfast::be_a_victim({args[1], args[2], args[3], std::stoi(args[4]), std::stoi(args[5])});
}

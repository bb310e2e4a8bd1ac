// The system clock steps back and forth by minutes while several processes work: leases expire
// early or late, but no step is applied twice, nothing is lost and every run ends.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

#include "runs/engine/engine_loop.h"
#include "tests/faults/ledger_site.h"

namespace holdfast::clock_step_test {
namespace {

// The offset that workers add to the time, shared through a file.
class ClockOffset {
 public:
  explicit ClockOffset(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    HOLDFAST_ASSERT(fd >= 0 && ftruncate(fd, sizeof(std::int64_t)) == 0);
    void* shared = mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    HOLDFAST_ASSERT(shared != MAP_FAILED);
    close(fd);
    offset_ms_ = static_cast<std::atomic<std::int64_t>*>(shared);
  }
  ~ClockOffset() { munmap(offset_ms_, sizeof(std::int64_t)); }
  ClockOffset(const ClockOffset&) = delete;
  ClockOffset& operator=(const ClockOffset&) = delete;
  void set_ms(std::int64_t offset_ms) { offset_ms_->store(offset_ms); }

 private:
  std::atomic<std::int64_t>* offset_ms_;
};

constexpr std::int64_t kMinuteMs = 60'000;

void step_back_and_forth(LedgerSite& site, std::uint64_t seed) {
  site.clock_file = site.dir.file("clock");
  ClockOffset clock(site.clock_file);
  SeededRandom random(seed);
  const int steps = std::getenv("HOLDFAST_LONG") != nullptr ? 1'000 : 60;
  {
    std::vector<std::unique_ptr<WorkerProcess>> workers;
    for (int i = 0; i < 3; ++i) {
      workers.push_back(site.worker("start", 60));
    }
    for (const auto& worker : workers) {
      EXPECT_EQ(worker->wait_for_lines(1, std::chrono::seconds(30)), 1U) << site.error_text();
    }
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      // Up to ten minutes either way; every third step is only a little longer than a lease.
      const auto minutes = static_cast<std::int64_t>(random.below(21)) - 10;
      clock.set_ms(step % 3 == 0 ? 600 : minutes * kMinuteMs);
      auto& one = workers[random.below(workers.size())];
      EXPECT_TRUE(one->runs_for(Milliseconds(10 + random.below(40)))) << site.error_text();
      if (step % 10 == 9) {
        one->kill_9();
        one = site.worker("start", 20);
      }
    }
  }
  // Later than any time a process has seen: all leases have expired, all timers are due.
  clock.set_ms(30 * kMinuteMs);
  site.drain();
  EXPECT_GT(expect_ledger_kept(site), 20U);
}

TEST(ClockSteps, on_sqlite_apply_nothing_twice_and_lose_nothing) {
  LedgerSite site;
  step_back_and_forth(site, 50);
}

TEST(ClockSteps, on_postgres_apply_nothing_twice_and_lose_nothing) {
  LedgerSite site(PostgresCluster::shared().url("clock_steps"));
  step_back_and_forth(site, 51);
}

// A clock that several threads read while another one steps it.
class SteppedClock final : public Clock {
 public:
  TimeMs now() override {
    ++reads_;
    return TimeMs{right_.now().value + offset_ms_.load()};
  }
  void step_ms(std::int64_t by) { offset_ms_ += by; }
  void wait_until_idle() const {
    for (std::uint64_t before = reads_ + 1; before != reads_;) {
      before = reads_;
      poll(nullptr, 0, 50);
    }
  }

 private:
  SystemClock right_;
  std::atomic<std::uint64_t> reads_ = 0;
  std::atomic<std::int64_t> offset_ms_ = 0;
};

// No command reaches the engine meanwhile: it must detect the step without one.
TEST(ClockSteps, forward_past_the_end_of_a_wait_end_it_soon) {
  const TempDir dir;
  SteppedClock clock;
  SystemRandom random;
  const auto loop = must(Loop::open(
      must(open_journal("sqlite:" + dir.file("journal.db"), OpenMode::create, clock, random)),
      clock, random));
  const auto workflow = must(Definition::parse(
      R"({"workflow":"nap","version":"1","steps":[{"name":"rest","wait":{"for_ms":600000}}]})"));
  loop->add_definition(workflow);
  StartRun command;
  command.run_id = RunId{make_uuid(clock.now(), random)};
  command.definition = workflow;
  must(loop->execute<Started>(
      [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
  Loop::Waiter waiter;
  loop->submit(AddRunWait{std::make_shared<RunWait>(
      RunWait{command.run_id, [&waiter](const auto&) { waiter.wake(); }})});
  clock.wait_until_idle();  // the threads of the engine sleep
  clock.step_ms(11 * kMinuteMs);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!waiter.done() && std::chrono::steady_clock::now() < end) {
    poll(nullptr, 0, 10);
  }
  EXPECT_TRUE(waiter.done()) << "the engine missed the end of the wait";
  loop->close();
}

}  // namespace
}  // namespace holdfast::clock_step_test

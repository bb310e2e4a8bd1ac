// Large payloads of live runs stay in the journal instead of memory; workers, rules and views see
// them as before.
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>

#include "runs/engine/worker_pool.h"
#include "runs/inspect/live_run_view.h"
#include "runs/inspect/stored_run.h"
#include "runs/view/run_snapshot.h"
#include "tests/support/core_fixture.h"
#include "tests/support/temp_dir.h"

namespace holdfast::engine_payload_test {
namespace {

Payload payload_of(std::size_t bytes, char filler = 'x') {
  return Payload::trusted(R"({"data":")" + std::string(bytes, filler) + R"("})");
}

class PayloadTest : public CoreTest {
 protected:
  // Every payload but the smallest counts as large.
  TestCore& open_small() { return open({.memory = {.cached_bytes = 1, .payload_bytes = 16}}); }
  void start(TestCore& core, int number, const std::shared_ptr<const Definition>& definition) {
    StartRun command = start_of(number, definition);
    command.input = input_;
    core.start(command);
    core.settle();
  }
  static Assignment claim(TestCore& core) {
    const auto worker = core.worker();
    core.settle();
    EXPECT_EQ(worker->code(), "ok");
    return worker->assignment();
  }
  static std::string complete(TestCore& core, const Assignment& given, const Payload& result) {
    Completion done;
    done.result = result;
    const auto reported = core.complete(proof_of(given), done);
    core.settle();
    return reported->code();
  }
  static const Attempt& attempt(TestCore& core, const Assignment& given) {
    return *core.core.state().queues().get(given.queue).find(given.runnable_key.view());
  }

  Payload input_ = payload_of(100);
};

TEST_F(PayloadTest, a_queue_does_not_keep_a_large_input) {
  TestCore& core = open_small();
  start(core, 1, one_);
  const DispatchProjection& queue = core.core.state().queues().get(kDefaultQueue);
  ASSERT_EQ(queue.attempts().size(), 1U);
  EXPECT_TRUE(queue.attempts().front()->input.empty());
  EXPECT_TRUE(queue.attempts().front()->has_input(input_));
  EXPECT_FALSE(queue.attempts().front()->has_input(payload_of(100, 'y')));
}

TEST_F(PayloadTest, a_worker_gets_the_whole_input) {
  TestCore& core = open_small();
  start(core, 1, one_);
  EXPECT_EQ(claim(core).input, input_);
}

TEST_F(PayloadTest, a_worker_gets_the_whole_input_after_a_restart_and_after_sealing) {
  start(open_small(), 1, one_);
  start(open_small(), 2, one_);
  must(cores_.back()->journal->seal());
  TestCore& again = open_small();
  EXPECT_EQ(claim(again).input, input_);
  EXPECT_EQ(claim(again).input, input_);
}

TEST_F(PayloadTest, a_retry_has_the_input_of_the_failed_attempt) {
  const auto twice = definition_of(R"([{"name":"a","retry":{"max_attempts":3,"delay":"1ms"}}])");
  TestCore& core = open_small();
  start(core, 1, twice);
  Failure failed = failure();
  failed.error = payload_of(50);
  for (int number = 1; number <= 2; ++number) {
    const Assignment given = claim(core);
    EXPECT_EQ(given.input, input_);
    const auto reported = core.fail(proof_of(given), failed);
    core.settle();
    EXPECT_EQ(reported->code(), "ok");
    clock_.advance_ms(10'000);
  }
  EXPECT_EQ(claim(core).input, input_);
  EXPECT_TRUE(core.core.state().queues().get(kDefaultQueue).anomalies().empty());
}

TEST_F(PayloadTest, a_repeated_report_of_a_large_result_is_recognized) {
  TestCore& core = open_small();
  start(core, 1, two_);
  const Assignment given = claim(core);
  const Payload result = payload_of(200, 'r');
  EXPECT_EQ(complete(core, given, result), "ok");
  EXPECT_TRUE(attempt(core, given).outcome->result.empty());
  EXPECT_EQ(complete(core, given, result), "ok");
  EXPECT_EQ(complete(core, given, payload_of(200, 's')), "conflicting_completion");
}

TEST_F(PayloadTest, the_loop_and_the_journal_give_the_same_snapshot) {
  TestCore& core = open_small();
  start(core, 1, two_);
  EXPECT_EQ(complete(core, claim(core), payload_of(200, 'r')), "ok");
  const auto live = core.execute<std::string>([](Turn& turn) -> Result<std::string> {
    HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(run_no(1)));
    return std::string(run_snapshot(live_source(turn, *run)).view());
  });
  core.settle();
  const Position head = must(core.journal->catch_up());
  const StoredRun stored = must(read_stored_run(*core.journal, run_no(1), head));
  EXPECT_EQ(must(*live->result), run_snapshot(stored.source(head, clock_.now())).view());
}

TEST_F(PayloadTest, the_state_is_the_same_after_a_restart) {
  TestCore& core = open_small();
  start(core, 1, two_);
  start(core, 2, two_);
  EXPECT_EQ(complete(core, claim(core), payload_of(200, 'r')), "ok");
  auto journal = open_memory_journal(disk_);
  must(journal->delete_checkpoint(live_checkpoint_name()));
  EXPECT_EQ(open_small().core.state().encode(), core.core.state().encode());
}

TEST_F(PayloadTest, a_result_that_was_not_applied_is_applied_by_the_next_process) {
  TestCore& core = open_small();
  Scribe scribe(*core.journal, 1, two_);
  scribe.register_definition();
  scribe.start();
  scribe.schedule("a");
  scribe.claim("a");
  scribe.complete("a", payload_of(200, 'r').view());
  TestCore& next = open_small();
  next.settle();
  EXPECT_TRUE(next.core.state().pending_recovery().empty());
  EXPECT_EQ(claim(next).step.view(), "b");
}

// -------------------------------------------------------------------------------------------------
// Memory growth of the process

std::uint64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  std::string word;
  std::uint64_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmRSS:" && status >> kilobytes) {
      break;
    }
  }
  return kilobytes * 1024;
}

class PayloadMemory : public testing::Test {
 protected:
  static constexpr std::uint64_t kRuns = 640;
  static constexpr std::size_t kBytes = 100'000;
  // Sanitizers do not release freed memory, so with them only the behaviour is checked.
#ifdef HOLDFAST_SANITIZED
  static constexpr std::uint64_t kMaxGrowth = 1ULL << 40U;
#else
  static constexpr std::uint64_t kMaxGrowth = 24U << 20U;
#endif

  std::unique_ptr<Loop> open() {
    LoopOptions options;
    options.core.memory.cached_bytes = 4U << 20U;
    options.seal_every_bytes = 0;  // sealing needs memory while it runs
    return must(Loop::open(open_journal(), clock_, random_, options));
  }
  std::unique_ptr<Journal> open_journal() {
    return must(holdfast::open_journal("sqlite:" + folder_.file("large.db"), OpenMode::create,
                                       clock_, random_));
  }
  void expect_little_growth(const char* when) {
    const std::uint64_t now = resident_bytes();
    EXPECT_LT(now, before_ + kMaxGrowth) << when << ": from " << before_ << " to " << now;
  }

  TempDir folder_;
  SystemClock clock_;
  SystemRandom random_;
  std::shared_ptr<const Definition> two_ = definition_of(
      R"([{"name":"a","handler":"work"},{"name":"b","handler":"missing","after":["a"]}])");
  std::uint64_t before_ = 0;
};

TEST_F(PayloadMemory, sixty_four_megabytes_of_live_payloads_take_less_than_twenty_four) {
  before_ = resident_bytes();
  {
    const auto loop = open();
    loop->add_definition(two_);
    for (std::uint64_t i = 0; i < kRuns; ++i) {
      StartRun start = start_of(static_cast<int>(i) + 1, two_);
      start.input = payload_of(kBytes);
      must(loop->execute<Started>(
          [start](Turn& turn) { return start_run(turn, start, IdOrigin::given); }));
    }
    expect_little_growth("after the starts");
    std::stop_source stop;
    std::atomic<std::uint64_t> executed = 0;
    auto handlers = std::make_shared<HandlerTable>();
    (*handlers)["work"] = [&](const Assignment& given, const std::stop_token&) -> AttemptOutcome {
      EXPECT_GT(given.input.view().size(), kBytes);
      AttemptOutcome outcome;
      std::get<Completion>(outcome).result = payload_of(kBytes, 'r');
      if (++executed == kRuns / 4) {
        stop.request_stop();
      }
      return outcome;
    };
    must(WorkerPool::create(*loop, handlers, {{SharedText(kDefaultQueue)}}, {.threads = 1})
             ->run(stop.get_token()));
    expect_little_growth("after the results");
  }
  {
    const auto loop = open();
    expect_little_growth("from a checkpoint");
  }
  must(open_journal()->delete_checkpoint(live_checkpoint_name()));
  const auto loop = open();
  expect_little_growth("without a checkpoint");
  EXPECT_EQ(
      must(loop->execute<std::size_t>([](Turn& turn) { return turn.state().runs().count(); })),
      kRuns);
}

}  // namespace
}  // namespace holdfast::engine_payload_test

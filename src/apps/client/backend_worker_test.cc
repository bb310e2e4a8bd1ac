// A worker of a lease backend; the test plays the engine.
#include "apps/client/backend_worker.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "runs/lease_backends/lease_messages.h"
#include "runs/lease_backends/memory_lease_backend.h"
#include "tests/support/must.h"

namespace holdfast::client::backend_worker_test {
namespace {

using std::chrono::milliseconds;
using Verdict = LeaseAnswer::Verdict;

constexpr const char* kQueue = "remote";
constexpr std::uint64_t kLeaseMs = 150;

class BackendWorkerTest : public testing::Test {
 protected:
  BackendWorkerTest() {
    plan_.name = "w";
    plan_.queues = {kQueue};
    plan_.observe = [this](const WorkEvent& event) {
      const std::scoped_lock lock(mutex_);
      events_.push_back(event.kind);
    };
  }
  ~BackendWorkerTest() override { stop(); }

  void add(const std::string& handler, StepHandler call) {
    handlers_[SharedText(handler)] = handler_of(std::move(call));
  }
  void start() {
    worker_ = std::make_unique<BackendWorker>(
        [this]() -> Result<std::unique_ptr<LeaseBackend>> { return MemoryLeases::open(leases_); },
        std::make_shared<const AttemptHandlers>(handlers_), plan_);
    thread_ = std::thread([this] { outcome_.emplace(worker_->run(stop_.get_token())); });
  }
  void stop() {
    stop_.request_stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  void enqueue(const std::string& id, const std::string& handler) {
    OfferedAttempt attempt;
    attempt.run_id.uuid.bytes[15] = std::byte{1};
    attempt.workflow = "order";
    attempt.step = "a";
    attempt.handler = handler;
    attempt.queue = kQueue;
    attempt.runnable_key = id;
    attempt.idempotency_key = "key of " + id;
    attempt.input = Payload::trusted(R"({"n":1})");
    const WorkItem item{id, attempt.idempotency_key, handler,
                        std::string(must(to_json(attempt)).view()), 0};
    must(engine_->enqueue(kQueue, std::span(&item, 1), EnqueueMode::ensure, 1));
  }
  // The next signal of this kind; claims are answered on the way.
  LeaseSignal next(SignalKind kind, Verdict verdict = Verdict::granted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      for (const LeaseSignal& signal : must(engine_->receive(kQueue, 1, milliseconds(50)))) {
        must(engine_->acknowledge(kQueue, std::span(&signal.reference, 1)));
        if (signal.kind == SignalKind::claim && verdict != Verdict::lost) {
          const LeaseAnswer answer{signal.claim_id, verdict, kLeaseMs, ""};
          must(engine_->answer(kQueue, std::span(&answer, 1)));
        }
        if (signal.kind == kind) {
          return signal;
        }
      }
    }
    ADD_FAILURE() << "no signal of kind " << signal_name(kind);
    return {};
  }

  std::shared_ptr<MemoryLeases> leases_ = std::make_shared<MemoryLeases>(LeaseBackendOptions{});
  std::unique_ptr<LeaseBackend> engine_ = MemoryLeases::open(leases_);
  BackendWorkPlan plan_;
  AttemptHandlers handlers_;
  std::unique_ptr<BackendWorker> worker_;
  std::stop_source stop_;
  std::thread thread_;
  std::optional<Result<void>> outcome_;
  std::mutex mutex_;
  std::vector<WorkEvent::Kind> events_;
};

TEST_F(BackendWorkerTest, executes_an_item_after_the_grant_and_reports_with_its_fence) {
  add("greet", [](StepContext& context, std::string_view input) {
    return StepResult::ok(R"({"input":)" + std::string(input) + R"(,"key":")" +
                          context.info().idempotency_key + R"("})");
  });
  start();
  enqueue("item", "greet");
  const LeaseSignal claim = next(SignalKind::claim);
  const LeaseSignal done = next(SignalKind::complete);
  EXPECT_EQ(done.item_id, "item");
  EXPECT_EQ(done.claim_id, claim.claim_id);
  EXPECT_EQ(done.token, claim.token);
  EXPECT_EQ(report_of(done, RunId{}).result.view(), R"({"input":{"n":1},"key":"key of item"})");
}

TEST_F(BackendWorkerTest, does_not_execute_a_refused_item) {
  std::atomic<int> calls = 0;
  add("greet", [&calls](StepContext&, std::string_view) {
    ++calls;
    return StepResult::ok("{}");
  });
  start();
  enqueue("refused", "greet");
  next(SignalKind::claim, Verdict::refused);
  enqueue("granted", "greet");
  EXPECT_EQ(next(SignalKind::complete).item_id, "granted");
  EXPECT_EQ(calls, 1);
}

TEST_F(BackendWorkerTest, reports_a_failure_and_an_exception) {
  add("fail", [](StepContext&, std::string_view) { return StepResult::fail("declined", "no"); });
  add("throw",
      [](StepContext&, std::string_view) -> StepResult { throw std::runtime_error("broken"); });
  start();
  enqueue("a", "fail");
  EXPECT_EQ(report_of(next(SignalKind::fail), RunId{}).code, "declined");
  enqueue("b", "throw");
  EXPECT_EQ(report_of(next(SignalKind::fail), RunId{}).code, "step_exception");
}

TEST_F(BackendWorkerTest, gives_back_an_item_without_a_handler) {
  add("greet", [](StepContext&, std::string_view) { return StepResult::ok("{}"); });
  start();
  enqueue("item", "other");
  const LeaseSignal given_back = next(SignalKind::yield);
  EXPECT_EQ(given_back.item_id, "item");
  EXPECT_GT(given_back.delay_ms, 0);
}

TEST_F(BackendWorkerTest, gives_back_an_item_that_no_engine_grants) {
  plan_.grant_patience = milliseconds(1);
  add("greet", [](StepContext&, std::string_view) { return StepResult::ok("{}"); });
  start();
  enqueue("item", "greet");
  EXPECT_EQ(next(SignalKind::yield, Verdict::lost).item_id, "item");
}

TEST_F(BackendWorkerTest, sends_heartbeats_and_stops_a_handler_whose_claim_is_lost) {
  add("slow", [](StepContext& context, std::string_view) {
    while (!context.stop().stop_requested()) {
      poll(nullptr, 0, 1);
    }
    return StepResult::ok("{}");
  });
  start();
  enqueue("item", "slow");
  const LeaseSignal beat = next(SignalKind::heartbeat);
  const LeaseAnswer lost{beat.claim_id, Verdict::lost, 0, ""};
  must(engine_->answer(kQueue, std::span(&lost, 1)));
  next(SignalKind::heartbeat);
  stop();
  EXPECT_TRUE(outcome_->ok());
  const std::scoped_lock lock(mutex_);
  EXPECT_EQ(events_, std::vector<WorkEvent::Kind>{WorkEvent::Kind::step_lost});
}

TEST_F(BackendWorkerTest, delivers_its_report_after_an_outage) {
  std::atomic<bool> running = false;
  std::atomic<bool> may_end = false;
  add("slow", [&](StepContext&, std::string_view) {
    running = true;
    while (!may_end) {
      poll(nullptr, 0, 1);
    }
    return StepResult::ok("{}");
  });
  start();
  enqueue("item", "slow");
  next(SignalKind::claim);
  while (!running) {
    poll(nullptr, 0, 1);
  }
  leases_->set_reachable(MemoryLeases::Reachable::no);
  may_end = true;
  poll(nullptr, 0, 20);
  leases_->set_reachable(MemoryLeases::Reachable::yes);
  EXPECT_EQ(next(SignalKind::complete).item_id, "item");
}

TEST_F(BackendWorkerTest, needs_a_queue) {
  plan_.queues.clear();
  start();
  stop();
  EXPECT_EQ(code_of(*outcome_), "invalid_argument");
}

}  // namespace
}  // namespace holdfast::client::backend_worker_test

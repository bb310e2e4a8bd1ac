// An engine whose queue is bound to a backend in memory, and workers that know only the backend.
#include "runs/lease_adapter/lease_adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "runs/lease_adapter/lease_adapters.h"
#include "runs/lease_backends/memory_lease_backend.h"
#include "tests/support/engine_support.h"
#include "tests/support/journal_audit.h"

namespace holdfast::lease_adapter_test {
namespace {

using std::chrono::milliseconds;
using Verdict = LeaseAnswer::Verdict;
using ::testing::HasSubstr;

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    poll(nullptr, 0, 2);
  }
  return true;
}

class LeaseAdapterTest : public testing::Test {
 protected:
  ~LeaseAdapterTest() override { close(); }

  void open() {
    observer_ = std::make_unique<LeaseObserver>(nullptr);
    LoopOptions options;
    options.observer = observer_.get();
    options.core.carried_queues = {SharedText(kDefaultQueue)};
    loop_ = must(Loop::open(open_hooked_journal(disk_, hooks_), clock_, random_, options));
    const OpenLeaseBackend handle = [this]() -> Result<std::unique_ptr<LeaseBackend>> {
      return MemoryLeases::open(leases_);
    };
    adapters_ = must(LeaseAdapters::start(*loop_, {{std::string(kDefaultQueue), handle}}));
    observer_->attach(adapters_.get());
    worker_ = MemoryLeases::open(leases_);
  }
  void close() {
    if (observer_ != nullptr) {
      observer_->attach(nullptr);
    }
    if (adapters_ != nullptr) {
      adapters_->stop();
    }
    loop_.reset();
    adapters_.reset();
  }

  void start(int number, std::string_view steps = kOneStep) {
    const StartRun command = start_of(number, definition_of(steps));
    must(loop_->execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
  }
  bool has_ended(int number) {
    return must(loop_->execute<bool>(
        [number](Turn& turn) { return !turn.state().runs().is_live(run_no(number)); }));
  }

  // Takes the next item, as soon as there is one.
  LeaseClaim take(std::string_view worker = "w") {
    const std::string id = "claim " + std::to_string(++claims_);
    std::optional<Delivery> delivery;
    EXPECT_TRUE(eventually([&] {
      auto taken = worker_->claim(kDefaultQueue, worker, id, "token", milliseconds(5));
      delivery = taken.ok() ? std::move(taken).value() : std::nullopt;
      return delivery.has_value();
    }));
    payload_ = delivery->item.payload;
    return {delivery->item.id, delivery->receipt, std::string(worker), id, "token"};
  }
  std::optional<LeaseAnswer> answer_to(const LeaseClaim& claim) {
    std::optional<LeaseAnswer> answer;
    EXPECT_TRUE(eventually([&] {
      answer = must(worker_->await_answer(kDefaultQueue, claim, milliseconds(5)));
      return answer.has_value();
    }));
    return answer;
  }
  // An item that was delivered again in the meantime is refused: then the next one is taken.
  LeaseClaim take_granted(std::string_view worker = "w") {
    LeaseClaim claim;
    EXPECT_TRUE(eventually([&] {
      claim = take(worker);
      return answer_to(claim)->verdict == Verdict::granted;
    }));
    return claim;
  }
  void end(const LeaseClaim& claim, SignalKind how, std::string_view body = "{}",
           std::int64_t delay_ms = 0) {
    must(worker_->end(kDefaultQueue, claim, how, body, delay_ms));
  }
  std::size_t count(std::string_view kind) {
    const auto kinds = kinds_from(*open_memory_journal(disk_), Position{1});
    return static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
  }

  std::shared_ptr<MemoryLeases> leases_ =
      std::make_shared<MemoryLeases>(LeaseBackendOptions{.redeliver_ms = 50, .max_deliveries = 0});
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<StoreHooks> hooks_ = std::make_shared<StoreHooks>();
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<LeaseObserver> observer_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<LeaseAdapters> adapters_;
  std::unique_ptr<LeaseBackend> worker_;
  std::string payload_;
  int claims_ = 0;
};

TEST_F(LeaseAdapterTest, a_worker_of_the_backend_executes_a_run) {
  open();
  start(1, kTwoSteps);
  for (const char* step : {"a", "b"}) {
    const LeaseClaim claim = take_granted();
    EXPECT_THAT(payload_, HasSubstr("\"step\":\"" + std::string(step) + "\""));
    EXPECT_THAT(payload_, HasSubstr("\"idempotency_key\":"));
    end(claim, SignalKind::complete, R"({"result":{"n":1}})");
  }
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_claimed"), 2U);
  EXPECT_EQ(count("attempt_completed"), 2U);
}

TEST_F(LeaseAdapterTest, a_claim_is_durable_before_it_is_granted) {
  open();
  start(1);
  take_granted();
  EXPECT_EQ(count("attempt_claimed"), 1U);
}

TEST_F(LeaseAdapterTest, a_report_counts_once_and_only_with_its_claim) {
  open();
  start(1, kTwoSteps);
  const LeaseClaim claim = take_granted();
  LeaseClaim stale = claim;
  stale.token = "another";
  end(stale, SignalKind::complete, R"({"result":{"stale":true}})");
  end(claim, SignalKind::complete, R"({"result":{"n":1}})");
  end(claim, SignalKind::complete, R"({"result":{"n":1}})");
  end(claim, SignalKind::complete, R"({"result":{"n":2}})");
  const LeaseClaim next = take_granted();
  EXPECT_THAT(payload_, HasSubstr(R"("n":1)"));
  end(next, SignalKind::complete);
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_completed"), 2U);
}

TEST_F(LeaseAdapterTest, a_second_delivery_is_refused_while_the_first_is_held) {
  open();
  start(1);
  const LeaseClaim first = take_granted("first");
  // Without a heartbeat the backend delivers the item again, long before the lease ends.
  const LeaseClaim second = take("second");
  EXPECT_EQ(second.item_id, first.item_id);
  EXPECT_EQ(answer_to(second)->verdict, Verdict::refused);
  end(second, SignalKind::complete, R"({"result":{"by":"second"}})");
  end(first, SignalKind::complete, R"({"result":{"by":"first"}})");
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_claimed"), 1U);
}

TEST_F(LeaseAdapterTest, the_attempt_of_a_lost_worker_is_delivered_again) {
  open();
  start(1, R"([{"name":"a","lease_ms":100}])");
  const LeaseClaim lost = take_granted("lost");
  const LeaseClaim second = take_granted("second");
  EXPECT_EQ(second.item_id, lost.item_id);
  end(lost, SignalKind::complete, R"({"result":{"by":"lost"}})");
  end(second, SignalKind::complete, R"({"result":{"by":"second"}})");
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_claimed"), 2U);
  EXPECT_EQ(count("attempt_completed"), 1U);
}

TEST_F(LeaseAdapterTest, a_failure_is_retried_as_the_workflow_requires) {
  open();
  start(1, R"([{"name":"a","retry":{"max_attempts":2,"delay_ms":1}}])");
  end(take_granted(), SignalKind::retry, R"({"code":"busy"})");
  const LeaseClaim again = take_granted();
  EXPECT_THAT(payload_, HasSubstr(R"("attempt":2)"));
  end(again, SignalKind::fail, R"({"code":"declined"})");
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_failed"), 2U);
}

TEST_F(LeaseAdapterTest, a_yielded_attempt_is_delivered_again_without_a_failure) {
  open();
  start(1);
  const LeaseClaim first = take_granted("first");
  end(first, SignalKind::yield);
  const LeaseClaim second = take_granted("second");
  EXPECT_EQ(second.item_id, first.item_id);
  EXPECT_THAT(payload_, HasSubstr(R"("attempt":1)"));
  end(second, SignalKind::complete);
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_failed"), 0U);
}

TEST_F(LeaseAdapterTest, a_dead_letter_fails_the_attempt) {
  leases_ =
      std::make_shared<MemoryLeases>(LeaseBackendOptions{.redeliver_ms = 1, .max_deliveries = 3});
  open();
  start(1, R"([{"name":"a","lease_ms":20}])");
  EXPECT_TRUE(eventually([&] {
    // Workers that take the item and are lost.
    static_cast<void>(
        worker_->claim(kDefaultQueue, "w", "c" + std::to_string(++claims_), "t", milliseconds(0)));
    return has_ended(1);
  }));
  EXPECT_EQ(count("attempt_failed"), 1U);
}

TEST_F(LeaseAdapterTest, what_the_backend_has_lost_is_enqueued_again) {
  open();
  start(1);
  start(2);
  const LeaseClaim held = take_granted();
  leases_->lose_everything();
  // The claim is in the journal: its report still counts.
  end(held, SignalKind::complete);
  end(take_granted(), SignalKind::complete);
  EXPECT_TRUE(eventually([&] { return has_ended(1) && has_ended(2); }));
  EXPECT_EQ(count("attempt_completed"), 2U);
}

TEST_F(LeaseAdapterTest, an_outage_is_reported_and_survived) {
  open();
  start(1);
  EXPECT_TRUE(eventually([&] { return adapters_->health().front().tick.has_value(); }));
  leases_->set_reachable(MemoryLeases::Reachable::no);
  start(2);
  // Also of a run that the backend has never seen.
  for (const int run : {1, 2}) {
    std::string seen;
    EXPECT_TRUE(eventually([&] {
      seen = std::string(adapters_->describe(run_no(run)).view());
      return seen.find(R"("state":"unreachable")") != std::string::npos;
    })) << seen;
    EXPECT_THAT(seen, HasSubstr(R"("next_try_at":)"));
  }
  leases_->set_reachable(MemoryLeases::Reachable::yes);
  for (int i = 0; i < 2; ++i) {
    end(take_granted(), SignalKind::complete);
  }
  EXPECT_TRUE(eventually([&] { return has_ended(1) && has_ended(2); }));
  EXPECT_TRUE(eventually([&] { return !adapters_->health().front().why.has_value(); }));
  EXPECT_EQ(adapters_->health().front().reconnects, 1U);
}

TEST_F(LeaseAdapterTest, a_restarted_engine_continues_with_the_same_items) {
  open();
  start(1, kTwoSteps);
  const LeaseClaim first = take_granted();
  close();
  end(first, SignalKind::complete);
  open();
  end(take_granted(), SignalKind::complete);
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_completed"), 2U);
}

TEST_F(LeaseAdapterTest, a_report_after_the_lease_counts_if_no_other_worker_has_claimed) {
  open();
  start(1, R"([{"name":"a","lease_ms":30}])");
  const LeaseClaim claim = take_granted();
  close();
  // The engine was down for longer than the lease.
  const TimeMs granted = clock_.now();
  EXPECT_TRUE(eventually([&] { return clock_.now().value > granted.value + 40; }));
  end(claim, SignalKind::complete, R"({"result":{"n":1}})");
  open();
  EXPECT_TRUE(eventually([&] { return has_ended(1); }));
  EXPECT_EQ(count("attempt_completed"), 1U);
}

TEST_F(LeaseAdapterTest, items_behind_a_circuit_breaker_come_back_when_its_probe_succeeds) {
  open();
  // The lease of the probe is longer than this test waits.
  constexpr std::string_view kGuarded =
      R"([{"name":"a","lease_ms":120000,"circuit_breaker":{"failures":1,"probe_after":"200ms"}}])";
  start(1, kGuarded);
  end(take_granted(), SignalKind::fail, R"({"code":"down"})");
  EXPECT_TRUE(eventually([&] { return count("circuit_opened") == 1; }));
  start(2, kGuarded);
  start(3, kGuarded);
  const LeaseClaim probe = take_granted("probe");
  EXPECT_EQ(count("circuit_probed"), 1U);
  // Both items are refused to other workers, and taken back until the lease of the probe ends.
  EXPECT_TRUE(eventually([&] {
    const auto taken =
        worker_->claim(kDefaultQueue, "w", "c" + std::to_string(++claims_), "t", milliseconds(0));
    return adapters_->health().front().tick->delayed == 2 && taken.ok();
  }));
  end(probe, SignalKind::complete);
  EXPECT_TRUE(eventually([&] { return count("circuit_closed") == 1; }));
  end(take_granted(), SignalKind::complete);
  EXPECT_TRUE(eventually([&] { return has_ended(2) && has_ended(3); }));
}

TEST_F(LeaseAdapterTest, a_queue_in_which_nothing_was_scheduled_stays_unknown) {
  open();
  EXPECT_TRUE(eventually([&] { return adapters_->health().front().tick.has_value(); }));
  EXPECT_TRUE(must(loop_->execute<bool>(
      [](Turn& turn) -> Result<bool> { return turn.state().queues().all().empty(); })));
}

TEST_F(LeaseAdapterTest, the_items_of_an_ended_run_are_removed) {
  open();
  start(1);
  EXPECT_TRUE(eventually([&] {
    return adapters_->describe(run_no(1)).view().find("enqueued") != std::string_view::npos;
  }));
  must(loop_->execute<Done>([](Turn& turn) { return cancel_run(turn, run_no(1)); }));
  EXPECT_TRUE(eventually([&] { return adapters_->describe(run_no(1)).empty(); }));
  EXPECT_FALSE(
      must(worker_->claim(kDefaultQueue, "w", "claim", "token", milliseconds(0))).has_value());
}

TEST_F(LeaseAdapterTest, the_worker_of_a_cancelled_run_is_stopped_by_its_next_heartbeat) {
  open();
  start(1);
  const LeaseClaim claim = take_granted();
  must(loop_->execute<Done>([](Turn& turn) { return cancel_run(turn, run_no(1)); }));
  std::optional<LeaseAnswer> answer;
  EXPECT_TRUE(eventually([&] {
    answer = must(worker_->heartbeat(kDefaultQueue, claim, ""));
    return answer.has_value();
  }));
  EXPECT_EQ(answer->verdict, Verdict::lost);
}

TEST_F(LeaseAdapterTest, explain_shows_where_an_attempt_is) {
  open();
  start(1);
  const LeaseClaim claim = take_granted("worker-7");
  std::string seen;
  EXPECT_TRUE(eventually([&] {
    seen = std::string(adapters_->describe(run_no(1)).view());
    return seen.find("delivered") != std::string::npos;
  }));
  EXPECT_THAT(seen, HasSubstr(R"("backend":"memory")"));
  EXPECT_THAT(seen, HasSubstr(R"("worker":"worker-7")"));
  EXPECT_TRUE(adapters_->describe(run_no(2)).empty());
}

TEST_F(LeaseAdapterTest, other_workers_claim_from_the_queue_only_if_they_name_it) {
  open();
  start(1);
  const auto claim_from = [&](const ServedQueues& queues) {
    const Skills skills{queues, {}};
    const Applicant applicant = loop_->new_applicant(skills);
    return must(loop_->execute<bool>([&](Turn& turn) -> Result<bool> {
      HOLDFAST_TRY(const auto given, claim_next(turn, skills, applicant));
      return given.has_value();
    }));
  };
  EXPECT_FALSE(claim_from({}));
  EXPECT_TRUE(claim_from({{SharedText(kDefaultQueue)}}));
}

TEST(QueueBindings, are_checked) {
  const OpenLeaseBackend memory = memory_lease_backend();
  EXPECT_EQ(must(bound_queues({{"a", memory}, {"b", memory}})).size(), 2U);
  EXPECT_EQ(code_of(bound_queues({{"a", memory}, {"a", memory}})), "invalid_argument");
  EXPECT_EQ(code_of(bound_queues({{"", memory}})), "invalid_argument");
  EXPECT_EQ(code_of(bound_queues({{"a", nullptr}})), "invalid_argument");
}

}  // namespace
}  // namespace holdfast::lease_adapter_test

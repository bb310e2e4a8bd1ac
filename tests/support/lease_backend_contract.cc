#include "holdfast/lease_backend_contract.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/must.h"

namespace holdfast {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;
using Verdict = LeaseAnswer::Verdict;

constexpr const char* kQueue = "reports";
constexpr milliseconds kNoWait{0};
constexpr milliseconds kShort{20};
constexpr std::int64_t kNow = 1'700'000'000'000;

struct RegisteredBackend {
  std::string name;
  std::function<std::unique_ptr<LeaseBackendUnderTest>()> make;
};

std::vector<RegisteredBackend>& backends() {
  static std::vector<RegisteredBackend> all;
  return all;
}

WorkItem item(const std::string& id, std::int64_t visible_at_ms = kNow) {
  return {id, "key of " + id, "handler", R"({"id":")" + id + R"("})", visible_at_ms};
}

bool in_time(const std::function<bool()>& condition) {
  const auto end = SteadyClock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (SteadyClock::now() > end) {
      return false;
    }
    poll(nullptr, 0, 1);
  }
  return true;
}

class LeaseBackendContract : public testing::TestWithParam<RegisteredBackend> {
 protected:
  std::unique_ptr<LeaseBackend> open() { return must(subject_->open(options_)); }

  // An engine: prepares the queue.
  void prepare() {
    engine_ = open();
    must(engine_->epoch(kQueue));
  }
  Enqueued put(const WorkItem& one, EnqueueMode mode = EnqueueMode::ensure) {
    return must(engine_->enqueue(kQueue, std::span(&one, 1), mode, kNow)).front();
  }
  void remove(const std::string& id) { must(engine_->remove(kQueue, std::span(&id, 1))); }
  std::optional<LeaseClaim> take(LeaseBackend& worker, const std::string& name,
                                 milliseconds wait = kNoWait) {
    const std::string claim_id = "claim-" + name + "-" + std::to_string(++claims_);
    const auto delivery = must(worker.claim(kQueue, name, claim_id, "token of " + name, wait));
    if (!delivery.has_value()) {
      return std::nullopt;
    }
    last_ = *delivery;
    return LeaseClaim{delivery->item.id, delivery->receipt, name, claim_id, "token of " + name};
  }
  std::vector<LeaseSignal> signals() { return must(engine_->receive(kQueue, 100, kShort)); }
  // Receives until there are as many, and acknowledges them.
  std::vector<LeaseSignal> all_signals(std::size_t count) {
    std::vector<LeaseSignal> found;
    EXPECT_TRUE(in_time([&] {
      for (LeaseSignal& signal : signals()) {
        must(engine_->acknowledge(kQueue, std::span(&signal.reference, 1)));
        found.push_back(std::move(signal));
      }
      return found.size() >= count;
    }));
    EXPECT_EQ(found.size(), count);
    return found;
  }

  LeaseBackendOptions options_{.redeliver_ms = 60'000, .max_deliveries = 0};
  std::unique_ptr<LeaseBackendUnderTest> subject_ = GetParam().make();
  std::unique_ptr<LeaseBackend> engine_;
  Delivery last_;
  int claims_ = 0;
};

TEST_P(LeaseBackendContract, an_item_is_delivered_unchanged_and_once) {
  prepare();
  const WorkItem sent{"run:a:1", "stable key", "charge",
                      R"({"input":{"text":"\u0000 \"ä\" \\ {}"},"list":[1,2.5,null]})", kNow};
  EXPECT_EQ(put(sent), Enqueued::added);
  const auto worker = open();
  ASSERT_TRUE(take(*worker, "w").has_value());
  EXPECT_EQ(last_.item.id, sent.id);
  EXPECT_EQ(last_.item.idempotency_key, sent.idempotency_key);
  EXPECT_EQ(last_.item.handler, sent.handler);
  EXPECT_EQ(last_.item.payload, sent.payload);
  EXPECT_FALSE(take(*worker, "w").has_value());
  EXPECT_FALSE(take(*open(), "other").has_value());
}

TEST_P(LeaseBackendContract, enqueueing_again_changes_nothing) {
  prepare();
  EXPECT_EQ(put(item("a")), Enqueued::added);
  EXPECT_EQ(put(item("a")), Enqueued::present);
  const auto worker = open();
  EXPECT_TRUE(take(*worker, "w").has_value());
  EXPECT_EQ(put(item("a")), Enqueued::present);
  EXPECT_FALSE(take(*worker, "w").has_value());
  const WorkItem later = item("b", kNow + 10);
  EXPECT_EQ(put(later), Enqueued::added);
  EXPECT_EQ(put(later), Enqueued::present);
}

TEST_P(LeaseBackendContract, an_item_is_not_delivered_before_its_time) {
  prepare();
  EXPECT_EQ(put(item("later", kNow + 500)), Enqueued::added);
  const auto worker = open();
  const LeaseTick before = must(engine_->tick(kQueue, kNow + 499));
  EXPECT_EQ(before.next_visible_at_ms, kNow + 500);
  EXPECT_EQ(before.delayed, 1U);
  EXPECT_FALSE(take(*worker, "w").has_value());
  const LeaseTick after = must(engine_->tick(kQueue, kNow + 500));
  EXPECT_FALSE(after.next_visible_at_ms.has_value());
  EXPECT_EQ(after.ready, 1U);
  EXPECT_TRUE(take(*worker, "w").has_value());
  EXPECT_EQ(must(engine_->tick(kQueue, kNow + 500)).delivered, 1U);
}

TEST_P(LeaseBackendContract, items_are_delivered_in_the_order_they_became_visible) {
  prepare();
  for (const char* id : {"c", "a", "b"}) {
    put(item(id));
  }
  const auto worker = open();
  std::string order;
  while (const auto claim = take(*worker, "w")) {
    order += claim->item_id;
  }
  EXPECT_EQ(order, "cab");
}

TEST_P(LeaseBackendContract, a_worker_waits_for_an_item) {
  prepare();
  const auto worker = open();
  std::optional<LeaseClaim> claim;
  std::thread waiting([&] { claim = take(*worker, "w", std::chrono::seconds(20)); });
  put(item("a"));
  waiting.join();
  EXPECT_TRUE(claim.has_value());
}

TEST_P(LeaseBackendContract, a_removed_item_is_not_delivered) {
  prepare();
  put(item("a"));
  put(item("b"));
  put(item("c", kNow + 5));
  remove("a");
  remove("c");
  remove("unknown");
  must(engine_->tick(kQueue, kNow + 5));
  const auto worker = open();
  const auto claim = take(*worker, "w");
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(claim->item_id, "b");
  EXPECT_FALSE(take(*worker, "w").has_value());
  // The id can be used again.
  EXPECT_EQ(put(item("a")), Enqueued::added);
  EXPECT_TRUE(take(*worker, "w").has_value());
}

TEST_P(LeaseBackendContract, queues_are_separate) {
  prepare();
  put(item("a"));
  const auto worker = open();
  must(worker->epoch("other"));
  EXPECT_FALSE(must(worker->claim("other", "w", "c", "t", kNoWait)).has_value());
  EXPECT_TRUE(take(*worker, "w").has_value());
}

TEST_P(LeaseBackendContract, a_claim_is_signalled_with_its_fence) {
  prepare();
  put(item("a"));
  const auto worker = open();
  const auto claim = take(*worker, "w");
  ASSERT_TRUE(claim.has_value());
  const auto found = all_signals(1);
  EXPECT_EQ(found[0].kind, SignalKind::claim);
  EXPECT_EQ(found[0].item_id, "a");
  EXPECT_EQ(found[0].worker, "w");
  EXPECT_EQ(found[0].claim_id, claim->claim_id);
  EXPECT_EQ(found[0].token, claim->token);
}

TEST_P(LeaseBackendContract, signals_arrive_in_order_until_they_are_acknowledged) {
  prepare();
  put(item("a"));
  const auto worker = open();
  const LeaseClaim claim = *take(*worker, "w");
  must(worker->heartbeat(kQueue, claim, R"({"done":3})"));
  must(worker->end(kQueue, claim, SignalKind::retry, R"({"code":"busy"})", 0));
  must(worker->end(kQueue, claim, SignalKind::yield, "", 250));
  EXPECT_EQ(signals().size(), 4U);
  // The engine ends without an acknowledgement.
  engine_ = open();
  const auto found = all_signals(4);
  EXPECT_EQ(found[0].kind, SignalKind::claim);
  EXPECT_EQ(found[1].kind, SignalKind::heartbeat);
  EXPECT_EQ(found[1].body, R"({"done":3})");
  EXPECT_EQ(found[2].kind, SignalKind::retry);
  EXPECT_EQ(found[2].body, R"({"code":"busy"})");
  EXPECT_EQ(found[2].token, claim.token);
  EXPECT_EQ(found[3].kind, SignalKind::yield);
  EXPECT_EQ(found[3].delay_ms, 250);
  engine_ = open();
  EXPECT_TRUE(signals().empty());
}

TEST_P(LeaseBackendContract, an_answer_reaches_its_claim) {
  prepare();
  put(item("a"));
  put(item("b"));
  const auto worker = open();
  const LeaseClaim first = *take(*worker, "w");
  const LeaseClaim second = *take(*worker, "w");
  const std::vector<LeaseAnswer> answers{{second.claim_id, Verdict::granted, 3000, R"({"done":1})"},
                                         {first.claim_id, Verdict::refused, 0, ""}};
  must(engine_->answer(kQueue, answers));
  const auto refused = must(worker->await_answer(kQueue, first, kShort));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->verdict, Verdict::refused);
  const auto granted = must(worker->await_answer(kQueue, second, kShort));
  ASSERT_TRUE(granted.has_value());
  EXPECT_EQ(granted->verdict, Verdict::granted);
  EXPECT_EQ(granted->lease_ms, 3000U);
  EXPECT_EQ(granted->progress, R"({"done":1})");
  EXPECT_FALSE(must(worker->await_answer(kQueue, second, kNoWait)).has_value());
}

TEST_P(LeaseBackendContract, a_heartbeat_returns_an_answer_that_has_arrived) {
  prepare();
  put(item("a"));
  const auto worker = open();
  const LeaseClaim claim = *take(*worker, "w");
  EXPECT_FALSE(must(worker->heartbeat(kQueue, claim, "")).has_value());
  const LeaseAnswer lost{claim.claim_id, Verdict::lost, 0, ""};
  must(engine_->answer(kQueue, std::span(&lost, 1)));
  const auto answer = must(worker->heartbeat(kQueue, claim, ""));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->verdict, Verdict::lost);
}

TEST_P(LeaseBackendContract, an_item_without_heartbeats_is_delivered_again) {
  options_.redeliver_ms = 20;
  prepare();
  put(item("a"));
  const auto worker = open();
  const LeaseClaim lost = *take(*worker, "lost");
  std::optional<LeaseClaim> again;
  EXPECT_TRUE(in_time([&] {
    must(engine_->tick(kQueue, kNow));
    again = take(*worker, "other");
    return again.has_value();
  }));
  EXPECT_EQ(again->item_id, "a");
  EXPECT_NE(again->receipt, lost.receipt);
}

TEST_P(LeaseBackendContract, heartbeats_keep_an_item) {
  options_.redeliver_ms = 400;
  prepare();
  put(item("a"));
  const auto worker = open();
  const auto other = open();
  const LeaseClaim claim = *take(*worker, "w");
  const auto end = SteadyClock::now() + milliseconds(1000);
  while (SteadyClock::now() < end) {
    must(worker->heartbeat(kQueue, claim, ""));
    must(engine_->tick(kQueue, kNow));
    ASSERT_FALSE(take(*other, "other", milliseconds(10)).has_value());
  }
}

TEST_P(LeaseBackendContract, an_item_can_be_taken_back) {
  prepare();
  put(item("a"));
  const auto worker = open();
  const LeaseClaim first = *take(*worker, "w");
  EXPECT_EQ(put(item("a"), EnqueueMode::redeliver), Enqueued::added);
  const LeaseClaim second = *take(*worker, "w");
  EXPECT_NE(second.receipt, first.receipt);
  EXPECT_EQ(put(item("a", kNow + 50), EnqueueMode::replace), Enqueued::added);
  EXPECT_FALSE(take(*worker, "w").has_value());
  // The heartbeat of a worker that lost the item does not bring it back.
  must(worker->heartbeat(kQueue, first, ""));
  EXPECT_FALSE(take(*worker, "w").has_value());
  must(engine_->tick(kQueue, kNow + 50));
  EXPECT_TRUE(take(*worker, "w").has_value());
}

TEST_P(LeaseBackendContract, an_item_that_no_worker_ends_becomes_a_dead_letter) {
  options_.max_deliveries = 3;
  prepare();
  put(item("a"));
  const auto worker = open();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(take(*worker, "w").has_value());
    EXPECT_EQ(put(item("a"), EnqueueMode::redeliver), Enqueued::added);
  }
  EXPECT_TRUE(take(*worker, "w").has_value());
  EXPECT_EQ(put(item("a"), EnqueueMode::redeliver), Enqueued::dead_lettered);
  const auto found = all_signals(4);
  EXPECT_EQ(found.back().kind, SignalKind::dead_letter);
  EXPECT_EQ(found.back().item_id, "a");
  EXPECT_EQ(must(engine_->tick(kQueue, kNow)).dead_letters, 1U);
  EXPECT_EQ(put(item("a")), Enqueued::dead_lettered);
  EXPECT_EQ(put(item("a"), EnqueueMode::redeliver), Enqueued::dead_lettered);
  EXPECT_FALSE(take(*worker, "w").has_value());
  remove("a");
  EXPECT_EQ(must(engine_->tick(kQueue, kNow)).dead_letters, 0U);
  EXPECT_EQ(put(item("a")), Enqueued::added);
}

TEST_P(LeaseBackendContract, an_item_that_is_given_back_does_not_become_a_dead_letter) {
  options_.max_deliveries = 2;
  prepare();
  put(item("a"));
  const auto worker = open();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(take(*worker, "w").has_value());
    EXPECT_EQ(put(item("a"), EnqueueMode::replace), Enqueued::added);
  }
}

TEST_P(LeaseBackendContract, a_loss_is_noticed_and_everything_can_be_enqueued_again) {
  prepare();
  const std::string before = must(engine_->epoch(kQueue));
  EXPECT_EQ(must(open()->epoch(kQueue)), before);
  put(item("a"));
  const auto worker = open();
  const LeaseClaim claim = *take(*worker, "w");
  subject_->lose_everything();
  std::string after = before;
  // A handle may need a call to notice that its connection is gone.
  EXPECT_TRUE(in_time([&] {
    const auto epoch = engine_->epoch(kQueue);
    after = epoch.ok() ? epoch.value() : before;
    return after != before;
  }));
  // A worker that holds an item can still report.
  EXPECT_TRUE(
      in_time([&] { return worker->end(kQueue, claim, SignalKind::complete, "{}", 0).ok(); }));
  EXPECT_EQ(put(item("a")), Enqueued::added);
  EXPECT_TRUE(take(*worker, "w", kShort).has_value());
  EXPECT_TRUE(in_time([&] {
    const auto found = signals();
    return !found.empty() && found.front().kind == SignalKind::complete;
  }));
}

TEST_P(LeaseBackendContract, each_item_goes_to_one_of_many_workers) {
  constexpr int kItems = 200;
  constexpr int kWorkers = 4;
  prepare();
  std::vector<WorkItem> items;
  for (int i = 0; i < kItems; ++i) {
    items.push_back(item("item " + std::to_string(i)));
  }
  must(engine_->enqueue(kQueue, items, EnqueueMode::ensure, kNow));
  std::mutex mutex;
  std::map<std::string, int> taken;
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, name = "w" + std::to_string(i)] {
      const auto worker = open();
      int count = 0;
      for (;;) {
        const auto got = must(
            worker->claim(kQueue, name, name + std::to_string(++count), "t", milliseconds(50)));
        if (!got.has_value()) {
          return;
        }
        const std::scoped_lock lock(mutex);
        ++taken[got->item.id];
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(kItems));
  for (const auto& [id, count] : taken) {
    EXPECT_EQ(count, 1) << id;
  }
  all_signals(kItems);
}

std::string name_of(const testing::TestParamInfo<RegisteredBackend>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(All, LeaseBackendContract, testing::ValuesIn(backends()), name_of);

}  // namespace

bool add_lease_backend_contract(const std::string& name,
                                std::function<std::unique_ptr<LeaseBackendUnderTest>()> make) {
  backends().push_back({name, std::move(make)});
  return true;
}

}  // namespace holdfast

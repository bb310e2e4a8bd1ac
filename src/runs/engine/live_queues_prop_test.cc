// LiveQueues against a visit to every queue: what it finds by its indexes is what is there, after
// any sequence of facts, ends of runs, undone changes and steps of the clock.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"
#include "base/random.h"
#include "runs/engine/live_queues.h"
#include "tests/support/engine_support.h"

namespace holdfast::live_queues_prop_test {
namespace {

constexpr int kQueues = 5;
constexpr int kKnownRuns = 6;
constexpr int kStepsOfASeed = 400;
constexpr std::uint64_t kSeedsOfQueues = 60;
const std::vector<SharedText> kHandlers{"pack", "ship", SharedText(kTimerHandler)};

class QueueWorld {
 public:
  explicit QueueWorld(std::uint64_t seed) : random_(seed) {}

  void step() {
    now_ = TimeMs{now_.value + pick(4) - (pick(20) == 0 ? 10 : 0)};  // clocks may be set back
    const UndoLog::Mark before = undo_.mark();
    change();
    if (pick(4) == 0) {
      undo_.roll_back_to(before);
    } else if (pick(3) == 0) {
      undo_.keep_until(undo_.mark());
      queues_.trim();
    }
    if (pick(30) == 0) {
      const RunId run = run_no(pick(kKnownRuns));
      end(run);
      undo_.keep_until(undo_.mark());
      queues_.forget_run(run);
    }
  }

  void check() {
    check_times();
    check_claimable({});
    check_claimable({kHandlers[0]});
    check_claimable({kHandlers[1], kHandlers[0]});
    for (const SharedText& key : keys_) {
      EXPECT_EQ(queues_.find(key.view()), holder_of(key)) << key.view();
      EXPECT_EQ(queues_.find(run_no(pick(kKnownRuns)), key.view()), holder_of(key)) << key.view();
    }
    std::size_t attempts = 0;
    for (const auto& [name, queue] : queues_.all()) {
      attempts += queue->attempt_count();
    }
    EXPECT_EQ(queues_.attempt_count(), attempts);
    for (int run = 0; run < kKnownRuns; ++run) {
      check_about(run_no(run));
    }
  }

 private:
  int pick(std::uint64_t count) { return static_cast<int>(random_.below(count)); }
  SharedText any_queue() { return SharedText("q" + std::to_string(pick(kQueues))); }

  void change() {
    switch (pick(8)) {
      case 0:
      case 1:
      case 2:
        schedule();
        return;
      case 3:
      case 4:
        claim();
        return;
      case 5:
        complete();
        return;
      case 6:
        end(run_no(pick(kKnownRuns)));
        return;
      default:
        put_off();
    }
  }

  void end(const RunId& run) {
    queues_.for_each_of(run, [&](DispatchProjection& queue) { queue.end_run(run); });
  }
  void schedule() {
    AttemptScheduled fact;
    fact.run_id = run_no(pick(kKnownRuns));
    // Some keys are of another form, or of another run.
    const std::string end = ":step:" + std::to_string(keys_.size());
    const RunId named = pick(6) == 0 ? run_no(pick(kKnownRuns)) : fact.run_id;
    fact.runnable_key = pick(6) == 0 ? SharedText("key" + end) : SharedText(to_string(named) + end);
    fact.idempotency_key = fact.runnable_key;
    fact.attempt_number = 1;
    fact.queue = any_queue();
    fact.step = "step";
    fact.input = Payload::trusted("{}");
    fact.visible_at = TimeMs{now_.value + pick(20)};
    fact.handler = kHandlers[static_cast<std::size_t>(pick(kHandlers.size()))];
    fact.policy.timeout.start_to_close_ms = static_cast<std::uint64_t>(pick(30));
    fact.policy.timeout.schedule_to_start_ms = static_cast<std::uint64_t>(pick(40));
    keys_.push_back(fact.runnable_key);
    queues_.evolve(fact.queue, now_, fact);
  }
  const Attempt* any_attempt() {
    const DispatchProjection& queue = queues_.get(any_queue());
    const auto attempts = queue.attempts();
    return attempts.empty() ? nullptr : attempts[static_cast<std::size_t>(pick(attempts.size()))];
  }
  template <typename Fact>
  Fact about(const Attempt& attempt) {
    Fact fact;
    fact.run_id = attempt.run_id;
    fact.runnable_key = attempt.runnable_key;
    fact.claim_id = attempt.claim ? attempt.claim->claim_id : SharedText("claim");
    fact.claim_token_hash = sha256("token");
    fact.queue = holder_of(attempt.runnable_key)->queue();
    return fact;
  }
  void claim() {
    if (const Attempt* attempt = any_attempt()) {
      auto fact = about<AttemptClaimed>(*attempt);
      fact.owner_id = "worker";
      fact.lease_until = TimeMs{now_.value + 1 + pick(15)};
      queues_.evolve(fact.queue, now_, fact);
    }
  }
  void complete() {
    if (const Attempt* attempt = any_attempt()) {
      auto fact = about<AttemptCompleted>(*attempt);
      fact.result = Payload::trusted("{}");
      queues_.evolve(fact.queue, now_, fact);
    }
  }
  void put_off() {
    if (DispatchProjection* queue = queues_.find_timed_out(now_)) {
      queues_.put_off_timeout(*queue, queue->timed_out(now_)->runnable_key);
    } else if (pick(4) == 0) {
      queues_.resume_timeouts();
    }
  }

  DispatchProjection* holder_of(const SharedText& key) {
    for (const auto& [name, queue] : queues_.all()) {
      if (queue->find(key.view()) != nullptr) {
        return queue.get();
      }
    }
    return nullptr;
  }

  void check_times() {
    std::optional<TimeMs> next;
    std::optional<TimeMs> timeout;
    const auto sooner = [](std::optional<TimeMs>& first, std::optional<TimeMs> at) {
      first = at.has_value() && (!first.has_value() || *at < *first) ? at : first;
    };
    for (const auto& [name, queue] : queues_.all()) {
      sooner(timeout, queue->next_timeout());
      sooner(next, queue->next_lease_end());
      queue->for_each_handler([&](const SharedText& handler, std::optional<TimeMs> at) {
        sooner(next, handler.view() == kTimerHandler ? at : std::nullopt);
      });
    }
    const DispatchProjection* late = queues_.find_timed_out(now_);
    EXPECT_EQ(late != nullptr, timeout.has_value() && *timeout <= now_);
    if (late != nullptr) {
      EXPECT_EQ(late->next_timeout(), timeout);
    }
    sooner(next, timeout);
    EXPECT_EQ(queues_.next_time(), next);
    const DispatchProjection* timer = queues_.find_due_timer(now_);
    EXPECT_EQ(timer, longest_visible({SharedText(kTimerHandler)}));
  }

  // After every queue has been visited.
  DispatchProjection* longest_visible(const std::vector<SharedText>& handlers) {
    DispatchProjection* best = nullptr;
    TimeMs since{0};
    for (const auto& [name, queue] : queues_.all()) {
      queue->advance(now_);
      const Attempt* first = queue->next_claimable(handlers, now_);
      if (first != nullptr && (best == nullptr || first->visible_at < since)) {
        best = queue.get();
        since = first->visible_at;
      }
    }
    return best;
  }
  void check_claimable(const std::vector<SharedText>& handlers) {
    const auto next = queues_.next_claimable_at({}, handlers, now_);
    DispatchProjection* found = queues_.find_claimable({}, handlers, now_);
    EXPECT_EQ(found, longest_visible(handlers));
    EXPECT_TRUE(found == nullptr || (next.has_value() && *next <= now_)) << "it wakes in time";
    const std::vector<SharedText> named{"q3", "q1"};
    DispatchProjection* preferred = queues_.find_claimable(named, handlers, now_);
    if (preferred != nullptr) {
      EXPECT_TRUE(std::find(named.begin(), named.end(), preferred->queue()) != named.end());
    }
    const std::vector<SharedText> none;
    EXPECT_EQ(queues_.find_claimable(none, handlers, now_), nullptr);
    EXPECT_EQ(queues_.next_claimable_at(none, handlers, now_), std::nullopt);
  }
  void check_about(const RunId& run) {
    const auto found = queues_.about(run);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), [](const auto* left, const auto* right) {
      return left->queue() < right->queue();
    }));
    for (const auto& [name, queue] : queues_.all()) {
      const auto concerns = [&](const Anomaly& anomaly) { return anomaly.run_id == run; };
      const bool knows =
          queue->find_run(run) != nullptr ||
          std::any_of(queue->anomalies().begin(), queue->anomalies().end(), concerns);
      const bool listed = std::find(found.begin(), found.end(), queue.get()) != found.end();
      EXPECT_TRUE(listed || !knows) << name.view();
    }
  }

  SeededRandom random_;
  TimeMs now_{100};
  std::unique_ptr<Journal> journal_ = open_memory_journal(std::make_shared<MemoryDisk>());
  UndoLog undo_;
  LiveQueues queues_{*journal_, undo_, 1024};
  std::vector<SharedText> keys_;
};

TEST(LiveQueuesProperty, the_indexes_find_what_a_visit_to_every_queue_finds) {
  for (std::uint64_t seed = 1; seed <= kSeedsOfQueues; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QueueWorld world(seed);
    for (int step = 0; step < kStepsOfASeed; ++step) {
      world.step();
      if (step % 5 == 0) {
        world.check();
      }
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::live_queues_prop_test

// What a queue says about itself, who waits and what is held, against a count of every attempt;
// and what a holder has left behind for the next one.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runs/dispatch/dispatch_decide.h"
#include "tests/support/dispatch_fact_samples.h"
#include "tests/support/must.h"

namespace holdfast::dispatch_waiting_prop_test {
namespace {

constexpr int kRuns = 3;
constexpr int kKeys = 9;
constexpr std::int64_t kEnd = 60;

struct Step {
  int act;
  int key;
  std::int64_t span;
};
std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "{" << step.act << ", " << step.key << ", " << step.span << "}";
}

rc::Gen<std::vector<Step>> histories() {
  const auto below = [](int limit) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, limit));
  };
  const auto step = rc::gen::map(rc::gen::tuple(below(18), below(kKeys), below(25)),
                                 [](const std::tuple<int, int, int>& of) {
                                   return Step{std::get<0>(of), std::get<1>(of), std::get<2>(of)};
                                 });
  return rc::gen::resize(80, rc::gen::container<std::vector<Step>>(step));
}

std::string key_no(int key) { return "k" + std::to_string(key); }
RunId run_of(int key) { return run_no(1 + key % kRuns); }

template <typename Fact>
Fact of_key(int key, Fact fact) {
  fact.run_id = run_of(key);
  return fact;
}

// Early acts are frequent, so that there is something for the rare ones to happen to.
void act(DispatchProjection& state, const Step& step, std::int64_t now) {
  const std::string key = key_no(step.key);
  AttemptScheduled intent = of_key(step.key, scheduled(key, now + step.span - 8));
  intent.handler = step.key == 0 ? std::string(kTimerHandler) : "h" + std::to_string(step.key / 3);
  AttemptHeartbeat beat = of_key(step.key, heartbeat(key, now + step.span));
  beat.progress = step.span % 2 == 0 ? json(std::to_string(step.span)) : Payload();
  if (step.act < 7) {
    state.evolve(ms(now), intent);
  } else if (step.act < 12) {
    state.evolve(ms(now), of_key(step.key, claimed(key, now + step.span)));
  } else if (step.act == 12) {
    state.evolve(ms(now), beat);
  } else if (step.act == 13) {
    state.evolve(ms(now), of_key(step.key, completed(key)));
  } else if (step.act == 14) {
    const std::string retry = key + "+";
    state.evolve(ms(now), of_key(step.key, failed_with_retry(key, retry, now + step.span)));
  } else if (step.act == 15) {
    state.evolve(ms(now), ResultApplied{run_of(step.key), SharedText(key), false});
  } else if (step.act == 16 && step.span < 4) {
    state.end_run(run_of(step.key));
  } else if (step.act == 17 && step.span < 2) {
    state.forget_run(run_of(step.key));
  }
}

// Time only advances.
std::int64_t moment(std::size_t step, std::size_t of) {
  return static_cast<std::int64_t>(step * static_cast<std::size_t>(kEnd) / (of + 1));
}

struct Counted {
  std::size_t visible = 0;
  std::size_t expired = 0;
  std::size_t later = 0;
  std::string first;
  std::int64_t next_at = -1;

  friend bool operator==(const Counted&, const Counted&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Counted& counted) {
    return out << counted.visible << " visible (" << counted.expired << " expired), "
               << counted.later << " later, first " << counted.first << ", next at "
               << counted.next_at;
  }
};
using Count = std::map<std::string, Counted>;

bool open_to_claims(const DispatchProjection& state, const Attempt& attempt) {
  const QueuedRun* run = state.find_run(attempt.run_id);
  const bool closed = run != nullptr && run->terminal;
  return !closed && !attempt.ended() && !attempt.applied;
}

bool is_held(const Attempt& attempt, TimeMs now) {
  return attempt.status == AttemptStatus::claimed && attempt.claim->lease_until > now;
}

Count counted_by_hand(const DispatchProjection& state, TimeMs now) {
  Count count;
  for (const Attempt* attempt : state.attempts()) {
    if (!open_to_claims(state, *attempt) || is_held(*attempt, now)) {
      continue;
    }
    Counted& of = count[attempt->handler.str()];
    if (attempt->visible_at > now) {
      ++of.later;
      of.next_at = of.next_at < 0 ? attempt->visible_at.value
                                  : std::min(of.next_at, attempt->visible_at.value);
      continue;
    }
    // attempts() come in claim order.
    of.first = of.visible++ == 0 ? attempt->runnable_key.str() : of.first;
    of.expired += attempt->status == AttemptStatus::claimed ? 1U : 0U;
  }
  return count;
}

Count as_reported(const DispatchProjection& state, TimeMs now) {
  Count count;
  for (const auto& [handler, waiting] : state.waiting(now)) {
    count[handler.str()] =
        Counted{waiting.visible, waiting.expired, waiting.later,
                waiting.first == nullptr ? "" : waiting.first->runnable_key.str(),
                waiting.next_at.value_or(ms(-1)).value};
  }
  return count;
}

std::vector<std::string> held_by_hand(const DispatchProjection& state, TimeMs now) {
  std::vector<std::string> names;
  for (const Attempt* attempt : state.attempts()) {
    if (open_to_claims(state, *attempt) && is_held(*attempt, now)) {
      names.push_back(attempt->runnable_key.str());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> held_as_reported(const DispatchProjection& state) {
  auto names = keys(state.held());
  std::sort(names.begin(), names.end());
  return names;
}

void expect_counts(DispatchProjection& state, TimeMs now) {
  state.advance(now);
  RC_ASSERT(as_reported(state, now) == counted_by_hand(state, now));
  RC_ASSERT(held_as_reported(state) == held_by_hand(state, now));
}

TEST(WaitingLaw, what_waits_and_what_is_held_is_what_a_count_of_all_attempts_finds) {
  EXPECT_TRUE(rc::check([] {
    const auto history = *histories();
    DispatchProjection state{kDefaultQueue};
    for (std::size_t i = 0; i < history.size(); ++i) {
      const std::int64_t now = moment(i, history.size());
      act(state, history[i], now);
      expect_counts(state, ms(now));
    }
    for (std::int64_t now = kEnd; now < kEnd + 30; now += 3) {
      expect_counts(state, ms(now));
    }
  }));
}

TEST(WaitingLaw, a_copy_through_bytes_reports_the_same) {
  EXPECT_TRUE(rc::check([] {
    const auto history = *histories();
    DispatchProjection state{kDefaultQueue};
    for (std::size_t i = 0; i < history.size(); ++i) {
      act(state, history[i], moment(i, history.size()));
    }
    const auto copy = must(DispatchProjection::decode(state.encode()));
    state.advance(ms(kEnd));
    copy->advance(ms(kEnd));
    RC_ASSERT(as_reported(*copy, ms(kEnd)) == as_reported(state, ms(kEnd)));
    RC_ASSERT(held_as_reported(*copy) == held_as_reported(state));
    RC_ASSERT(copy->encode() == state.encode());
  }));
}

TEST(WaitingLaw, undo_takes_all_of_it_back) {
  EXPECT_TRUE(rc::check([] {
    const auto history = *histories();
    const std::size_t half = history.size() / 2;
    DispatchProjection state{kDefaultQueue};
    UndoLog undo;
    state.set_undo(&undo);
    for (std::size_t i = 0; i < half; ++i) {
      act(state, history[i], moment(i, history.size()));
    }
    const TimeMs now = ms(moment(half, history.size()));
    state.advance(now);
    const std::string before = state.encode();
    const Count waiting = as_reported(state, now);
    const auto held = held_as_reported(state);
    const UndoLog::Mark mark = undo.mark();
    for (std::size_t i = half; i < history.size(); ++i) {
      act(state, history[i], now.value);
    }
    undo.roll_back_to(mark);
    state.advance(now);
    RC_ASSERT(state.encode() == before);
    RC_ASSERT(as_reported(state, now) == waiting);
    RC_ASSERT(held_as_reported(state) == held);
    RC_ASSERT(waiting == counted_by_hand(state, now));
  }));
}

class Progress : public testing::Test {
 protected:
  void take(std::int64_t at, const DispatchFact& fact) { state_.evolve(ms(at), fact); }
  void beat(std::int64_t at, std::string_view progress, std::string_view claim = "c1") {
    AttemptHeartbeat fact = heartbeat("k1", at + 100, claim);
    fact.progress = progress.empty() ? Payload() : json(progress);
    take(at, fact);
  }
  std::string progress() { return std::string(state_.find("k1")->claim->progress.view()); }

  DispatchProjection state_{kDefaultQueue};
};

TEST_F(Progress, of_the_latest_heartbeat_that_had_some_is_kept) {
  take(0, scheduled("k1", 0));
  take(10, claimed("k1", 100));
  EXPECT_EQ(progress(), "");
  beat(20, R"({"page":1})");
  EXPECT_EQ(progress(), R"({"page":1})");
  beat(30, "");
  EXPECT_EQ(progress(), R"({"page":1})") << "a heartbeat without progress says nothing of it";
  beat(40, R"({"page":2})");
  EXPECT_EQ(progress(), R"({"page":2})");
  EXPECT_EQ(reasons(state_), std::vector<std::string>());
}

TEST_F(Progress, is_passed_to_the_next_claim_after_the_lease_expired) {
  take(0, scheduled("k1", 0));
  take(10, claimed("k1", 100));
  beat(20, R"({"page":1})");
  take(200, claimed("k1", 300, "c2"));
  EXPECT_EQ(state_.find("k1")->claim->claim_id.view(), "c2");
  EXPECT_EQ(progress(), R"({"page":1})");
  take(400, claimed("k1", 500, "c3"));
  EXPECT_EQ(progress(), R"({"page":1})") << "also when the second holder said nothing";
  beat(410, R"({"page":5})", "c3");
  EXPECT_EQ(progress(), R"({"page":5})");
}

TEST_F(Progress, of_a_holder_that_lost_its_lease_to_another_does_not_count) {
  take(0, scheduled("k1", 0));
  take(10, claimed("k1", 100));
  beat(20, R"({"page":1})");
  take(200, claimed("k1", 300, "c2"));
  beat(210, R"({"page":9})", "c1");
  EXPECT_EQ(progress(), R"({"page":1})");
  EXPECT_EQ(reasons(state_).size(), 1U);
}

TEST_F(Progress, goes_through_bytes_and_is_taken_back_by_undo) {
  UndoLog undo;
  state_.set_undo(&undo);
  take(0, scheduled("k1", 0));
  take(10, claimed("k1", 100));
  beat(20, R"({"page":1})");
  const auto copy = must(DispatchProjection::decode(state_.encode()));
  EXPECT_EQ(copy->find("k1")->claim->progress.view(), R"({"page":1})");
  const std::string before = state_.encode();
  const UndoLog::Mark mark = undo.mark();
  beat(30, R"({"page":2})");
  take(200, claimed("k1", 300, "c2"));
  beat(210, R"({"page":3})", "c2");
  EXPECT_EQ(progress(), R"({"page":3})");
  undo.roll_back_to(mark);
  EXPECT_EQ(progress(), R"({"page":1})");
  EXPECT_EQ(state_.encode(), before);
}

TEST_F(Progress, is_what_the_command_to_keep_a_claim_says) {
  take(0, scheduled("k1", 0));
  take(10, claimed("k1", 100));
  const ClaimProof proof{run_no(1), "k1", "c1", token("secret")};
  const auto kept = must(decide_heartbeat(state_, proof, ms(20), json(R"({"page":4})")));
  take(20, kept);
  EXPECT_EQ(progress(), R"({"page":4})");
}

}  // namespace
}  // namespace holdfast::dispatch_waiting_prop_test

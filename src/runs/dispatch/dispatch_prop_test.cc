// Laws of the dispatch protocol under random histories, plausible and hostile: few attempts, few
// claims and few moments, so that everything meets everything.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runs/dispatch/dispatch_decide.h"
#include "tests/support/dispatch_fact_samples.h"
#include "tests/support/test_entries.h"

namespace holdfast::dispatch_prop_test {
namespace {

constexpr int kRuns = 2;
constexpr int kKeys = 4;
constexpr int kClaims = 2;
constexpr int kMoments = 40;

enum class Act : std::uint8_t {
  queue_run,
  schedule,
  claim,
  heartbeat,
  complete,
  fail,
  fail_with_retry,
  wakeup,
  apply,
  // The same through decide, which writes nothing that breaks a rule.
  decide_schedule,
  decide_claim_next,
  decide_heartbeat,
  decide_complete,
  decide_fail,
  end_run,
  forget_run,
  malformed,
  advance,
};

// What is odd about a step; most have nothing odd.
enum class Twist : std::uint8_t { other_run, other_token, other_queue, other_data, timer, none };

struct Step {
  Act act;
  int key;
  int claim;
  std::int64_t at;
  std::int64_t span;
  Twist twist;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "{act " << static_cast<int>(step.act) << ", key " << step.key << ", claim "
             << step.claim << ", at " << step.at << ", span " << step.span << ", twist "
             << static_cast<int>(step.twist) << "}";
}

// What work consists of is frequent, what ends it is rare, so that histories get somewhere.
rc::Gen<Act> acts() {
  return rc::gen::weightedElement<Act>({
      {2, Act::queue_run},
      {8, Act::schedule},
      {8, Act::claim},
      {5, Act::heartbeat},
      {6, Act::complete},
      {4, Act::fail},
      {4, Act::fail_with_retry},
      {2, Act::wakeup},
      {4, Act::apply},
      {6, Act::decide_schedule},
      {8, Act::decide_claim_next},
      {4, Act::decide_heartbeat},
      {4, Act::decide_complete},
      {4, Act::decide_fail},
      {1, Act::end_run},
      {1, Act::forget_run},
      {1, Act::malformed},
      {3, Act::advance},
  });
}

rc::Gen<Step> steps() {
  using Parts = std::tuple<Act, int, int, int, int, int>;
  const auto below = [](int limit) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, limit));
  };
  return rc::gen::map(
      rc::gen::tuple(acts(), below(kKeys), below(kClaims), below(kMoments), below(16), below(25)),
      [](const Parts& parts) {
        const auto [act, key, claim, at, span, twist] = parts;
        const int odd = std::min(twist, static_cast<int>(Twist::none));
        return Step{act, key, claim, at, span, static_cast<Twist>(odd)};
      });
}

// Time advances from step to step, and sometimes it jumps.
rc::Gen<std::vector<Step>> histories(int size = 120) {
  return rc::gen::map(rc::gen::resize(size, rc::gen::container<std::vector<Step>>(steps())),
                      [](std::vector<Step> history) {
                        const auto length = static_cast<std::int64_t>(history.size());
                        for (std::int64_t i = 0; i < length; ++i) {
                          Step& step = history[static_cast<std::size_t>(i)];
                          const std::int64_t jitter = step.at % 4;
                          const bool jumps = step.at % 7 == 0;
                          step.at = jumps ? step.at : i * kMoments / length + jitter;
                        }
                        return history;
                      });
}

std::string key_no(int key) { return "k" + std::to_string(key); }
std::string claim_no(int claim) { return "c" + std::to_string(claim); }
std::string handler_no(int key) { return "h" + std::to_string(key / 2); }
RunId run_of(int key) { return run_no(1 + key % kRuns); }

template <typename Fact>
Fact twisted(const Step& step, Fact fact) {
  fact.run_id = run_of(step.twist == Twist::other_run ? step.key + 1 : step.key);
  if (step.twist == Twist::other_queue) {
    fact.queue = "other";
  }
  if constexpr (requires { fact.claim_token_hash; }) {
    if (step.twist == Twist::other_token) {
      fact.claim_token_hash = token("guess");
    }
  }
  return fact;
}

AttemptScheduled intent_of(const Step& step) {
  AttemptScheduled fact = scheduled(key_no(step.key), step.span / 8 * 8);
  fact.handler = handler_no(step.key);
  fact.policy.claim.lease_ms = 6 + static_cast<std::uint64_t>(step.key) * 5;
  if (step.twist == Twist::other_data) {
    fact.input = json("{}");
  }
  if (step.twist == Twist::timer) {
    fact.event_wait_timeout = json("1");
  }
  return twisted(step, fact);
}

AttemptFailed failure_of(const Step& step) {
  AttemptFailed fact = failed(key_no(step.key), claim_no(step.claim));
  if (step.act == Act::fail_with_retry) {
    fact.retry_runnable_key = key_no((step.key + kRuns) % kKeys);
    fact.retry_visible_at = ms(step.span);
    if (step.twist != Twist::other_data) {
      fact.retry_idempotency_key = scheduled(key_no(step.key)).idempotency_key;
    }
  }
  return twisted(step, fact);
}

AttemptCompleted completion_of(const Step& step) {
  AttemptCompleted fact = completed(key_no(step.key), claim_no(step.claim));
  if (step.twist == Twist::other_data) {
    fact.result = json("[]");
  }
  return twisted(step, fact);
}

ResultApplied applied_of(const Step& step) {
  ResultApplied fact{run_of(step.key), key_no(step.key), step.twist == Twist::other_data};
  if (step.twist == Twist::other_run) {
    fact.run_id = run_of(step.key + 1);
  }
  return fact;
}

// The fact of a step that is one, whatever the state is.
std::optional<DispatchFact> fact_of(const Step& step) {
  const std::string key = key_no(step.key);
  const std::string claim = claim_no(step.claim);
  const std::int64_t lease = step.at + 2 * step.span;
  switch (step.act) {
    case Act::queue_run:
      return twisted(step, RunQueued{{}, kDefaultQueue});
    case Act::schedule:
      return intent_of(step);
    case Act::claim:
      return twisted(step, claimed(key, lease, claim));
    case Act::heartbeat:
      // Some heartbeats shorten the lease.
      return twisted(step, heartbeat(key, lease - 8, claim));
    case Act::complete:
      return completion_of(step);
    case Act::fail:
    case Act::fail_with_retry:
      return failure_of(step);
    case Act::wakeup:
      return twisted(step, wakeup(key));
    case Act::apply:
    case Act::decide_schedule:
    case Act::decide_claim_next:
    case Act::decide_heartbeat:
    case Act::decide_complete:
    case Act::decide_fail:
    case Act::end_run:
    case Act::forget_run:
    case Act::malformed:
    case Act::advance:
      break;
  }
  return std::nullopt;
}

// What the holder of the attempt would show, if the step has nothing odd.
ClaimProof proof_of(const DispatchProjection& state, const Step& step) {
  const auto fact = twisted(step, by_claim<AttemptHeartbeat>(key_no(step.key)));
  const Attempt* attempt = state.find(fact.runnable_key.view());
  const bool held = attempt != nullptr && attempt->claim && step.twist != Twist::other_data;
  return {fact.run_id, fact.runnable_key,
          held ? attempt->claim->claim_id : SharedText(claim_no(step.claim)),
          fact.claim_token_hash};
}

Claimant claimant_of(const Step& step) {
  Claimant claimant{claim_no(step.claim), token("secret"), "worker", {}};
  if (step.twist == Twist::other_data) {
    claimant.handlers = {handler_no(step.key), "unheard"};
  }
  return claimant;
}

template <typename Fact>
std::optional<DispatchFact> decided(const Result<std::optional<Fact>>& result) {
  return result.ok() && result.value().has_value() ? std::optional<DispatchFact>(*result.value())
                                                   : std::nullopt;
}

// What decide makes of a step: a fact to append, or nothing.
std::optional<DispatchFact> decide(DispatchProjection& state, const Step& step) {
  const TimeMs now = ms(step.at);
  const ClaimProof proof = proof_of(state, step);
  if (step.act == Act::decide_schedule) {
    return decided(decide_schedule(state, intent_of(step), now));
  }
  if (step.act == Act::decide_claim_next) {
    state.advance(now);
    const auto claim = decide_claim_next(state, claimant_of(step), now);
    return claim.has_value() ? std::optional<DispatchFact>(*claim) : std::nullopt;
  }
  if (step.act == Act::decide_heartbeat) {
    const auto beat = decide_heartbeat(state, proof, now);
    return beat.ok() ? std::optional<DispatchFact>(beat.value()) : std::nullopt;
  }
  if (step.act == Act::decide_complete) {
    return decided(decide_complete(state, proof, {completion_of(step).result, {}}, now));
  }
  if (step.act == Act::decide_fail) {
    const Retry retry{key_no((step.key + kRuns) % kKeys), ms(step.at + step.span)};
    return decided(decide_fail(state, proof, json("1"), retry, now));
  }
  if (step.act == Act::wakeup) {
    const auto emitted = decide_wakeup(state, key_no(step.key), now);
    return emitted.ok() ? std::optional<DispatchFact>(emitted.value()) : std::nullopt;
  }
  return std::nullopt;
}

void act(DispatchProjection& state, const Step& step) {
  std::optional<DispatchFact> fact = fact_of(step);
  if (!fact.has_value()) {
    fact = decide(state, step);
  }
  if (fact.has_value()) {
    state.evolve(ms(step.at), *fact);
  } else if (step.act == Act::apply) {
    state.evolve(ms(step.at), applied_of(step));
  } else if (step.act == Act::end_run) {
    state.end_run(run_of(step.key));
  } else if (step.act == Act::forget_run) {
    state.forget_run(run_of(step.key));
  } else if (step.act == Act::malformed) {
    EntryView entry;
    entry.kind = "attempt_claimed";
    entry.at = ms(step.at);
    entry.data = "{}";
    state.fold(entry);
  } else if (step.act == Act::advance) {
    state.advance(ms(step.at));
  }
}

const std::vector<std::vector<SharedText>>& handler_sets() {
  static const std::vector<std::vector<SharedText>> kSets{
      {}, {"h0"}, {"h1"}, {"h0", "h1", "h2"}, {"h2"}};
  return kSets;
}

std::string name_of(const Attempt* attempt) {
  return attempt == nullptr ? "-" : attempt->runnable_key.str();
}

// All that can be seen of a state, also through its heaps and lists.
std::string answers(DispatchProjection& state) {
  std::string text = state.encode();
  for (std::int64_t now = kMoments + 20; now >= 0; now -= 3) {
    state.advance(ms(now));
    for (const auto& handlers : handler_sets()) {
      text += ' ' + name_of(state.next_claimable(handlers, ms(now)));
      text += ' ' + std::to_string(state.next_change(handlers, ms(now)).value_or(ms(-1)).value);
    }
  }
  for (int run = 1; run <= kRuns; ++run) {
    for (const std::string& key : keys(state.attempts_of(run_no(run)))) {
      text += ' ' + key;
    }
  }
  return text;
}

TEST(DispatchLaw, a_fact_that_breaks_a_rule_changes_nothing_but_the_list_of_anomalies) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection state(kDefaultQueue);
    for (const Step& step : *histories()) {
      const std::string before = known(state);
      const std::size_t anomalies = state.anomalies().size();
      act(state, step);
      RC_ASSERT(state.anomalies().size() <= anomalies + 1);
      if (state.anomalies().size() > anomalies) {
        RC_ASSERT(known(state) == before);
      }
    }
  }));
}

TEST(DispatchLaw, a_stored_prefix_and_the_rest_give_what_the_whole_gives) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Step> history = *histories();
    DispatchProjection whole(kDefaultQueue);
    std::vector<std::string> prefixes{whole.encode()};
    for (const Step& step : history) {
      act(whole, step);
      prefixes.push_back(whole.encode());
    }
    const std::string expected = answers(whole);
    for (std::size_t cut = 0; cut < prefixes.size(); ++cut) {
      const auto state = must(DispatchProjection::decode(prefixes[cut]));
      RC_ASSERT(state->encode() == prefixes[cut]);
      for (std::size_t i = cut; i < history.size(); ++i) {
        act(*state, history[i]);
      }
      RC_ASSERT(answers(*state) == expected);
    }
  }));
}

TEST(DispatchLaw, entries_fold_as_their_facts) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection facts(kDefaultQueue);
    DispatchProjection entries(kDefaultQueue);
    for (const Step& step : *histories()) {
      const auto fact = fact_of(step);
      if (!fact.has_value()) {
        act(facts, step);
        act(entries, step);
        continue;
      }
      facts.evolve(ms(step.at), *fact);
      const NewEntry entry = must(to_entry(*fact, ms(step.at)));
      entries.fold({"dispatch:default", {}, entry.kind, entry.at, entry.data.view(), {}});
    }
    RC_ASSERT(entries.encode() == facts.encode());
  }));
}

// Those whose repetition the rules know. A repetition is always harmless.
bool may_repeat(Act act) {
  return act == Act::queue_run || act == Act::schedule || act == Act::complete || act == Act::apply;
}

TEST(DispatchLaw, what_was_accepted_may_come_again) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection state(kDefaultQueue);
    for (const Step& step : *histories()) {
      const std::size_t anomalies = state.anomalies().size();
      act(state, step);
      if (may_repeat(step.act) && state.anomalies().size() == anomalies) {
        const std::string before = state.encode();
        act(state, step);
        RC_ASSERT(state.encode() == before);
      }
    }
  }));
}

TEST(DispatchLaw, a_repetition_changes_nothing_and_an_accepted_fact_is_not_an_anomaly) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection state(kDefaultQueue);
    for (const Step& step : *histories()) {
      const auto fact = fact_of(step);
      const std::string before = state.encode();
      const std::size_t anomalies = state.anomalies().size();
      const auto verdict = [&] {
        return std::visit([&](const auto& one) { return judge(state, ms(step.at), one).kind; },
                          *fact);
      };
      const auto expected = fact.has_value() ? verdict() : Verdict::Kind::accept;
      act(state, step);
      if (!fact.has_value()) {
        continue;
      }
      RC_ASSERT((expected == Verdict::Kind::refuse) == (state.anomalies().size() > anomalies));
      if (expected == Verdict::Kind::repeat) {
        RC_ASSERT(state.encode() == before);
      }
    }
  }));
}

TEST(DispatchLaw, what_decide_allows_is_accepted) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection state(kDefaultQueue);
    for (const Step& step : *histories()) {
      act(state, step);
      for (const Act choice : {Act::decide_schedule, Act::decide_claim_next, Act::decide_heartbeat,
                               Act::decide_complete, Act::decide_fail, Act::wakeup}) {
        Step next = step;
        next.act = choice;
        const auto fact = decide(state, next);
        if (fact.has_value()) {
          const auto copy = must(DispatchProjection::decode(state.encode()));
          copy->evolve(ms(step.at), *fact);
          RC_ASSERT(copy->anomalies().size() == state.anomalies().size());
          // Only these two may say what is known already.
          RC_ASSERT(known(*copy) != known(state) || choice == Act::decide_heartbeat ||
                    choice == Act::wakeup);
        }
      }
    }
  }));
}

TEST(DispatchLaw, what_is_rolled_back_never_was) {
  EXPECT_TRUE(rc::check([] {
    UndoLog undo;
    DispatchProjection state(kDefaultQueue);
    state.set_undo(&undo);
    DispatchProjection twin(kDefaultQueue);
    for (int round = 0; round < 3; ++round) {
      for (const Step& step : *histories(60)) {
        act(state, step);
        act(twin, step);
      }
      const std::string before = answers(state);
      RC_ASSERT(before == answers(twin));
      const UndoLog::Mark mark = undo.mark();
      for (const Step& step : *histories()) {
        act(state, step);
      }
      undo.roll_back_to(mark);
      RC_ASSERT(undo.mark() == mark);
      RC_ASSERT(answers(state) == before);
    }
    undo.roll_back_to(0);
    DispatchProjection empty(kDefaultQueue);
    RC_ASSERT(answers(state) == answers(empty));
  }));
}

TEST(DispatchLaw, what_is_kept_stays_and_every_later_mark_can_be_restored) {
  EXPECT_TRUE(rc::check([] {
    UndoLog undo;
    DispatchProjection state(kDefaultQueue);
    state.set_undo(&undo);
    std::vector<std::pair<UndoLog::Mark, std::string>> seen;
    for (const Step& step : *histories()) {
      act(state, step);
      seen.emplace_back(undo.mark(), answers(state));
    }
    const std::size_t kept = seen.size() / 3;
    if (kept < seen.size()) {
      undo.keep_until(seen[kept].first);
    }
    for (std::size_t i = seen.size(); i > kept; --i) {
      undo.roll_back_to(seen[i - 1].first);
      RC_ASSERT(answers(state) == seen[i - 1].second);
    }
  }));
}

TEST(DispatchLaw, at_most_one_claim_of_an_attempt_is_valid_at_any_time) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection state(kDefaultQueue);
    for (const Step& step : *histories()) {
      act(state, step);
      for (int key = 0; key < kKeys; ++key) {
        int valid = 0;
        for (int claim = 0; claim < kClaims; ++claim) {
          for (const std::string_view secret : {"secret", "guess"}) {
            const ClaimProof proof{run_of(key), key_no(key), claim_no(claim), token(secret)};
            valid += decide_heartbeat(state, proof, ms(step.at)).ok() ? 1 : 0;
          }
        }
        const Claimant other{"new", token("new"), "worker", {}};
        valid += decide_claim(state, key_no(key), other, ms(step.at)).ok() ? 1 : 0;
        RC_ASSERT(valid <= 1);
      }
    }
  }));
}

const Attempt* first_candidate(const DispatchProjection& state,
                               const std::vector<SharedText>& handlers, TimeMs now) {
  std::vector<const Attempt*> candidates = visible(state, now);
  const auto overdue = expired(state, now);
  candidates.insert(candidates.end(), overdue.begin(), overdue.end());
  const Attempt* first = nullptr;
  for (const Attempt* attempt : candidates) {
    const bool wanted = handlers.empty() || std::find(handlers.begin(), handlers.end(),
                                                      attempt->handler) != handlers.end();
    // A lease that was shortened can be over before the attempt is visible.
    if (wanted && attempt->visible_at <= now &&
        (first == nullptr || std::pair(attempt->visible_at, attempt->order) <
                                 std::pair(first->visible_at, first->order))) {
      first = attempt;
    }
  }
  return first;
}

TEST(DispatchLaw, the_next_claimable_is_the_first_of_the_visible_and_the_expired) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection state(kDefaultQueue);
    for (const Step& step : *histories()) {
      act(state, step);
      for (const std::int64_t now : {step.at, std::int64_t{kMoments + 30}, step.span}) {
        state.advance(ms(now));
        for (const auto& handlers : handler_sets()) {
          RC_ASSERT(name_of(state.next_claimable(handlers, ms(now))) ==
                    name_of(first_candidate(state, handlers, ms(now))));
        }
      }
    }
  }));
}

TEST(DispatchLaw, nothing_changes_before_the_next_change) {
  EXPECT_TRUE(rc::check([] {
    DispatchProjection state(kDefaultQueue);
    for (const Step& step : *histories(60)) {
      act(state, step);
      for (const auto& handlers : handler_sets()) {
        state.advance(ms(step.at));
        const std::string now = name_of(state.next_claimable(handlers, ms(step.at)));
        const TimeMs change = state.next_change(handlers, ms(step.at)).value_or(ms(kMoments + 30));
        RC_ASSERT(change >= ms(step.at));
        for (TimeMs at = ms(step.at); at < change; ++at.value) {
          RC_ASSERT(name_of(first_candidate(state, handlers, at)) == now);
        }
      }
    }
  }));
}

}  // namespace
}  // namespace holdfast::dispatch_prop_test

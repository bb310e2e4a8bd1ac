#include "runs/dispatch/dispatch_projection.h"

#include <gtest/gtest.h>

#include "tests/support/dispatch_fact_samples.h"
#include "tests/support/must.h"

namespace holdfast::dispatch_projection_test {
namespace {

using Keys = std::vector<std::string>;

class Projection : public testing::Test {
 protected:
  void take(std::int64_t at, const DispatchFact& fact) { state_.evolve(ms(at), fact); }

  void schedule(std::string_view key, std::int64_t visible_at, int run = 1,
                std::string_view handler = "") {
    AttemptScheduled intent = scheduled(key, visible_at);
    intent.run_id = run_no(run);
    intent.handler = handler;
    take(0, intent);
  }
  // The key that is claimed next at `now`, or nothing.
  std::string next(std::int64_t now, const std::vector<SharedText>& handlers = {}) {
    state_.advance(ms(now));
    const Attempt* attempt = state_.next_claimable(handlers, ms(now));
    return attempt == nullptr ? "" : attempt->runnable_key.str();
  }
  // -1: never.
  std::int64_t change(std::int64_t now, const std::vector<SharedText>& handlers = {}) {
    state_.advance(ms(now));
    return state_.next_change(handlers, ms(now)).value_or(ms(-1)).value;
  }

  DispatchProjection state_{kDefaultQueue};
};

TEST_F(Projection, an_intent_becomes_an_attempt_with_all_it_says) {
  AttemptScheduled intent = scheduled("k1");
  intent.workflow = "order";
  intent.handler = "payments";
  intent.policy.claim.lease_ms = 500;
  intent.deadline = json("900");
  take(7, intent);
  const Attempt* attempt = state_.find("k1");
  ASSERT_NE(attempt, nullptr);
  EXPECT_EQ(attempt->run_id, run_no(1));
  EXPECT_EQ(attempt->idempotency_key.view(), "k1/once");
  EXPECT_EQ(attempt->attempt_number, 1U);
  EXPECT_EQ(attempt->step.view(), "charge");
  EXPECT_EQ(attempt->handler.view(), "payments");
  EXPECT_EQ(attempt->workflow.view(), "order");
  EXPECT_EQ(attempt->input, intent.input);
  EXPECT_EQ(attempt->options.lease_ms, 500U);
  EXPECT_EQ(attempt->scheduled_at, ms(7));
  EXPECT_EQ(attempt->visible_at, ms(100));
  EXPECT_EQ(attempt->extras->deadline, json("900"));
  EXPECT_EQ(attempt->status, AttemptStatus::available);
  EXPECT_EQ(state_.find("k2"), nullptr);
}

TEST_F(Projection, an_input_that_was_dropped_is_still_compared) {
  const AttemptScheduled intent = scheduled("k1");
  take(0, intent);
  EXPECT_EQ(state_.revision(), Revision{1});
  state_.drop_input("k1", Revision{0});
  EXPECT_TRUE(state_.find("k1")->input.empty());
  take(1, intent);
  EXPECT_TRUE(state_.anomalies().empty());
  AttemptScheduled other = intent;
  other.input = json(R"({"other":true})");
  take(2, other);
  ASSERT_EQ(state_.anomalies().size(), 1U);
  EXPECT_EQ(state_.anomalies()[0].reason.view(), "conflicting_runnable_intent");
  const auto copy = must(DispatchProjection::decode(state_.encode()));
  EXPECT_TRUE(copy->find("k1")->has_input(intent.input));
}

TEST_F(Projection, a_retry_of_an_attempt_without_its_input_has_none_either) {
  take(0, scheduled("k1"));
  state_.drop_input("k1", Revision{0});
  take(120, claimed("k1", 200));
  AttemptFailed fact = failed("k1");
  fact.retry_runnable_key = "k2";
  fact.retry_visible_at = ms(150);
  take(130, fact);
  ASSERT_NE(state_.find("k2"), nullptr);
  ASSERT_NE(state_.find("k2")->stored_input(), nullptr);
  EXPECT_EQ(*state_.find("k2")->stored_input(), *state_.find("k1")->stored_input());
}

TEST_F(Projection, a_result_that_was_dropped_is_still_compared) {
  take(0, scheduled("k1"));
  take(120, claimed("k1", 200));
  const AttemptCompleted fact = completed("k1");
  take(130, fact);
  state_.drop_outcome("k1", Revision{2});
  EXPECT_TRUE(state_.find("k1")->outcome->result.empty());
  take(140, fact);
  EXPECT_TRUE(state_.anomalies().empty());
  AttemptCompleted other = fact;
  other.result = json(R"({"other":true})");
  take(141, other);
  ASSERT_EQ(state_.anomalies().size(), 1U);
  EXPECT_EQ(state_.anomalies()[0].reason.view(), "conflicting_completion");
}

TEST_F(Projection, without_a_handler_the_step_is_the_handler) {
  schedule("k1", 100);
  EXPECT_EQ(state_.find("k1")->handler.view(), "charge");
}

TEST_F(Projection, a_claim_and_its_heartbeats_are_remembered) {
  schedule("k1", 100);
  take(120, claimed("k1", 200));
  take(150, heartbeat("k1", 300));
  const Attempt* attempt = state_.find("k1");
  EXPECT_EQ(attempt->status, AttemptStatus::claimed);
  EXPECT_EQ(attempt->claim->owner_id.view(), "worker");
  EXPECT_EQ(attempt->claim->claimed_at, ms(120));
  EXPECT_EQ(attempt->claim->lease_until, ms(300));
}

TEST_F(Projection, a_completion_keeps_everything_it_said) {
  schedule("k1", 100);
  take(120, claimed("k1", 200));
  AttemptCompleted completion = completed("k1");
  completion.execution_opts = json("[1]");
  take(150, completion);
  const Outcome outcome{ms(150), completion.result, {}, json("[1]")};
  EXPECT_EQ(state_.find("k1")->status, AttemptStatus::completed);
  EXPECT_EQ(*state_.find("k1")->outcome, outcome);
}

TEST_F(Projection, a_wakeup_is_remembered_and_changes_nothing_else) {
  schedule("k1", 100);
  take(50, wakeup("k1"));
  EXPECT_TRUE(state_.find("k1")->wakeup_emitted);
  EXPECT_EQ(next(100), "k1");
}

TEST_F(Projection, what_became_visible_first_is_claimed_first) {
  schedule("late", 300);
  schedule("early", 100);
  schedule("middle", 200);
  EXPECT_EQ(next(99), "");
  EXPECT_EQ(next(300), "early");
  take(300, claimed("early", 900));
  EXPECT_EQ(next(300), "middle");
  take(300, claimed("middle", 900));
  EXPECT_EQ(next(300), "late");
  take(300, claimed("late", 900));
  EXPECT_EQ(next(300), "");
}

TEST_F(Projection, what_becomes_visible_together_is_claimed_in_the_order_of_scheduling) {
  schedule("b", 100);
  schedule("a", 100);
  schedule("c", 100, 2);
  EXPECT_EQ(keys(visible(state_, ms(100))), (Keys{"b", "a", "c"}));
  EXPECT_EQ(next(100), "b");
  take(100, claimed("b", 900));
  EXPECT_EQ(next(100), "a");
}

TEST_F(Projection, an_expired_claim_keeps_its_place_in_the_order) {
  schedule("k1", 100);
  schedule("k2", 150);
  take(100, claimed("k1", 200));
  EXPECT_EQ(next(199), "k2");
  EXPECT_EQ(next(200), "k1");
}

TEST_F(Projection, a_worker_gets_only_what_it_can_execute) {
  schedule("k1", 100, 1, "mail");
  schedule("k2", 200, 1, "payments");
  schedule("k3", 300, 1, "mail");
  EXPECT_EQ(next(300, {"payments"}), "k2");
  EXPECT_EQ(next(300, {"payments", "mail"}), "k1");
  EXPECT_EQ(next(300, {"unheard"}), "");
  take(300, claimed("k1", 900));
  EXPECT_EQ(next(300, {"mail"}), "k3");
  EXPECT_EQ(change(150, {"payments"}), 200);
  EXPECT_EQ(change(150, {"mail"}), 300);
}

TEST_F(Projection, the_next_change_is_when_something_becomes_visible_or_a_lease_ends) {
  EXPECT_EQ(change(0), -1);
  schedule("k1", 100);
  schedule("k2", 400);
  EXPECT_EQ(change(0), 100);
  EXPECT_EQ(change(130), 130) << "something can be claimed now";
  take(130, claimed("k1", 250));
  EXPECT_EQ(change(130), 250);
  take(140, heartbeat("k1", 700));
  EXPECT_EQ(change(140), 400);
  EXPECT_EQ(next(399), "");
  EXPECT_EQ(next(400), "k2");
  take(400, claimed("k2", 500));
  take(450, completed("k2"));
  EXPECT_EQ(change(450), 700);
  take(460, completed("k1"));
  EXPECT_EQ(change(460), -1);
}

TEST_F(Projection, a_clock_set_back_finds_the_lease_held_again) {
  schedule("k1", 100);
  schedule("k2", 150);
  take(100, claimed("k1", 200));
  EXPECT_EQ(next(250), "k1");
  EXPECT_EQ(next(180), "k2");
  EXPECT_EQ(next(120), "");
  EXPECT_EQ(change(120), 150);
  take(150, claimed("k2", 900));
  EXPECT_EQ(change(160), 200);
  EXPECT_EQ(next(200), "k1");
  EXPECT_EQ(next(50), "");
  EXPECT_EQ(next(199), "");
  EXPECT_EQ(next(200), "k1");
}

TEST_F(Projection, a_clock_set_back_finds_what_is_hidden_behind_others_too) {
  schedule("a", 10);
  schedule("b", 20);
  take(20, claimed("b", 30));
  EXPECT_EQ(next(40), "a");
  EXPECT_EQ(next(25), "a") << "b looks expired in the heap, but stands behind a";
  take(25, claimed("a", 35));
  EXPECT_EQ(next(25), "");
  EXPECT_EQ(change(25), 30);
}

TEST_F(Projection, the_views_say_where_each_attempt_stands) {
  schedule("waiting", 100);
  schedule("later", 900);
  schedule("held", 100);
  schedule("expired", 100);
  schedule("done", 100);
  schedule("applied", 100);
  schedule("failed", 100);
  take(100, claimed("held", 800));
  take(100, claimed("expired", 200));
  for (const std::string_view key : {"done", "applied", "failed"}) {
    take(100, claimed(key, 800));
  }
  take(110, completed("done"));
  take(110, completed("applied"));
  take(110, failed("failed"));
  state_.evolve(ms(120), applied("applied"));
  EXPECT_EQ(reasons(state_), Keys{});

  EXPECT_EQ(keys(visible(state_, ms(99))), Keys{});
  EXPECT_EQ(keys(visible(state_, ms(200))), (Keys{"waiting"}));
  EXPECT_EQ(keys(expired(state_, ms(199))), Keys{});
  EXPECT_EQ(keys(expired(state_, ms(200))), (Keys{"expired"}));
  EXPECT_EQ(keys(scheduled_later(state_, ms(99))), (Keys{"waiting", "later"}));
  EXPECT_EQ(keys(scheduled_later(state_, ms(200))), (Keys{"later"}));
  EXPECT_EQ(keys(unapplied(state_)), (Keys{"done"}));
  EXPECT_EQ(keys(state_.attempts()),
            (Keys{"waiting", "held", "expired", "done", "applied", "failed", "later"}));
}

TEST_F(Projection, the_attempts_of_a_run_come_in_the_order_of_scheduling) {
  schedule("k2", 300);
  schedule("other", 100, 2);
  schedule("k1", 100);
  EXPECT_EQ(keys(state_.attempts_of(run_no(1))), (Keys{"k2", "k1"}));
  EXPECT_EQ(keys(state_.attempts_of(run_no(2))), (Keys{"other"}));
  EXPECT_EQ(keys(state_.attempts_of(run_no(3))), Keys{});
}

// One visible, one expired, one later and one completed attempt of run 1; one visible of run 2.
class ClosedRun : public Projection {
 protected:
  ClosedRun() {
    schedule("visible", 100);
    schedule("expired", 100);
    schedule("later", 900);
    schedule("done", 100);
    schedule("other", 150, 2);
    take(100, claimed("expired", 200));
    take(100, claimed("done", 200));
    take(110, completed("done"));
    EXPECT_EQ(next(300), "visible");
  }
  void expect_closed() {
    EXPECT_EQ(keys(visible(state_, ms(300))), (Keys{"other"}));
    EXPECT_EQ(keys(expired(state_, ms(300))), Keys{});
    EXPECT_EQ(keys(scheduled_later(state_, ms(300))), Keys{});
    EXPECT_EQ(keys(unapplied(state_)), Keys{});
    EXPECT_EQ(next(300), "other");
    EXPECT_EQ(next(50), "");
    EXPECT_EQ(change(50), 150);
  }
};

TEST_F(ClosedRun, an_ended_run_is_in_no_view) {
  state_.end_run(run_no(1));
  expect_closed();
  EXPECT_TRUE(state_.find_run(run_no(1))->terminal);
  EXPECT_EQ(state_.attempt_count(), 5U) << "but can still be inspected";
}

TEST_F(ClosedRun, a_forgotten_run_leaves_nothing) {
  state_.end_run(run_no(1));
  state_.forget_run(run_no(1));
  expect_closed();
  EXPECT_EQ(state_.attempt_count(), 1U);
  EXPECT_EQ(state_.find_run(run_no(1)), nullptr);
  EXPECT_EQ(state_.find("visible"), nullptr);
  EXPECT_EQ(keys(state_.attempts_of(run_no(1))), Keys{});
  state_.forget_run(run_no(1));
  state_.forget_run(run_no(7));
  EXPECT_EQ(state_.attempt_count(), 1U);
}

TEST_F(ClosedRun, ending_a_run_twice_or_an_unknown_one_is_fine) {
  state_.end_run(run_no(1));
  const std::string before = state_.encode();
  state_.end_run(run_no(1));
  EXPECT_EQ(state_.encode(), before);
  state_.end_run(run_no(7));
  EXPECT_TRUE(state_.find_run(run_no(7))->terminal);
}

TEST_F(Projection, a_failure_with_a_retry_schedules_the_next_attempt) {
  AttemptScheduled intent = scheduled("k1");
  intent.handler = "payments";
  intent.workflow = "order";
  intent.policy.claim.lease_ms = 500;
  intent.deadline = json("1");
  take(0, intent);
  take(100, claimed("k1", 200));
  AttemptFailed failure = failed_with_retry("k1", "k2", 400);
  failure.retry_deadline = json("2");
  failure.retry_trace = json("[3]");
  take(150, failure);

  EXPECT_EQ(state_.find("k1")->status, AttemptStatus::failed);
  EXPECT_EQ(state_.find("k1")->outcome->error, failure.error);
  const Attempt* retry = state_.find("k2");
  ASSERT_NE(retry, nullptr);
  EXPECT_EQ(retry->status, AttemptStatus::retry_scheduled);
  EXPECT_EQ(retry->run_id, run_no(1));
  EXPECT_EQ(retry->attempt_number, 2U);
  EXPECT_EQ(retry->idempotency_key, intent.idempotency_key);
  EXPECT_EQ(retry->step.view(), "charge");
  EXPECT_EQ(retry->handler.view(), "payments");
  EXPECT_EQ(retry->workflow.view(), "order");
  EXPECT_EQ(retry->input, intent.input);
  EXPECT_EQ(retry->options.lease_ms, 500U);
  EXPECT_EQ(retry->scheduled_at, ms(150));
  EXPECT_EQ(retry->visible_at, ms(400));
  EXPECT_EQ(retry->extras->deadline, json("2"));
  EXPECT_EQ(retry->extras->trace, json("[3]"));
  EXPECT_EQ(next(399), "");
  EXPECT_EQ(next(400), "k2");
  take(400, claimed("k2", 500));
  EXPECT_EQ(state_.find("k2")->status, AttemptStatus::claimed);
}

// Older versions gave each attempt a key of its own, and executed it under that key.
TEST_F(Projection, a_retry_that_an_older_version_scheduled_keeps_the_key_it_had) {
  schedule("k1", 100);
  take(100, claimed("k1", 200));
  AttemptFailed old = failed_with_retry("k1", "k2", 300);
  old.retry_idempotency_key = {};
  take(150, old);
  EXPECT_EQ(state_.find("k2")->idempotency_key.view(), "k2");
}

TEST_F(Projection, attempts_under_one_idempotency_key_share_its_text) {
  AttemptScheduled intent = scheduled("k1");
  intent.idempotency_key = "k1";
  take(0, intent);
  take(100, claimed("k1", 200));
  AttemptFailed failure = failed_with_retry("k1", "k2", 400);
  failure.retry_idempotency_key = "k1";
  take(150, failure);
  const auto again = must(DispatchProjection::decode(state_.encode()));
  for (const DispatchProjection* state : {&std::as_const(state_), &std::as_const(*again)}) {
    const char* text = state->find("k1")->runnable_key.view().data();
    EXPECT_EQ(state->find("k1")->idempotency_key.view().data(), text);
    EXPECT_EQ(state->find("k2")->idempotency_key.view().data(), text);
  }
}

TEST_F(Projection, a_failure_without_a_retry_schedules_nothing) {
  schedule("k1", 100);
  take(100, claimed("k1", 200));
  take(150, failed("k1"));
  EXPECT_EQ(state_.attempt_count(), 1U);
  EXPECT_EQ(change(150), -1);
}

// A state with something of everything.
class Stored : public Projection {
 protected:
  Stored() {
    take(0, RunQueued{run_no(1), "default"});
    schedule("k1", 100, 1, "mail");
    schedule("k2", 50, 2);
    AttemptScheduled timer = scheduled("timer", 70);
    timer.event_wait_timeout = json(R"({"event":"paid"})");
    take(1, timer);
    take(100, claimed("k1", 200));
    take(110, claimed("timer", 120));
    take(120, failed_with_retry("k1", "k1b", 500));
    take(130, completed("missing"));
    state_.end_run(run_no(3));
    schedule("k4", 10, 3);
    schedule("k5", 10, 5);
    EXPECT_EQ(reasons(state_), (Keys{"unknown_runnable_intent", "terminal_run"}));
  }
  static std::string code(const std::string& bytes) {
    return code_of(DispatchProjection::decode(bytes));
  }
  std::string changed(std::string_view from, std::string_view to) {
    std::string bytes = state_.encode();
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return bytes.replace(at, from.size(), to);
  }
};

TEST_F(Stored, bytes_read_back_give_the_same_state_and_the_same_answers) {
  const auto copy = must(DispatchProjection::decode(state_.encode()));
  EXPECT_EQ(copy->encode(), state_.encode());
  EXPECT_EQ(copy->queue().view(), "default");
  EXPECT_EQ(copy->anomalies(), state_.anomalies());
  EXPECT_EQ(keys(copy->attempts_of(run_no(1))), keys(state_.attempts_of(run_no(1))));
  for (const std::int64_t now : {0, 50, 119, 120, 499, 500}) {
    EXPECT_EQ(next(now).empty(), (copy->advance(ms(now)), !copy->next_claimable({}, ms(now))));
    EXPECT_EQ(copy->next_change({}, ms(now)), state_.next_change({}, ms(now)));
  }
  take(600, claimed("k2", 700));
  copy->evolve(ms(600), claimed("k2", 700));
  schedule("k6", 20);
  AttemptScheduled later = scheduled("k6", 20);
  copy->evolve(ms(0), later);
  EXPECT_EQ(copy->encode(), state_.encode());
}

TEST_F(Stored, an_empty_projection_reads_back_too) {
  const DispatchProjection empty("mail");
  EXPECT_EQ(must(DispatchProjection::decode(empty.encode()))->encode(), empty.encode());
}

TEST_F(Stored, bytes_that_encode_did_not_make_are_refused) {
  EXPECT_EQ(code(""), "invalid_json");
  EXPECT_EQ(code("[]"), "invalid_json");
  EXPECT_EQ(code("{}"), "missing_fields");
  EXPECT_EQ(code(changed(R"("queue":"default")", R"("queue":"")")), "missing_fields");
  EXPECT_EQ(code(changed(R"("status":"claimed")", R"("status":"lost")")), "invalid_argument");
  EXPECT_EQ(code(changed(R"("next_order":5)", R"("next_order":"5")")), "invalid_argument");
}

TEST_F(Stored, parts_that_do_not_fit_together_are_refused) {
  EXPECT_EQ(code(changed(R"("runnable_key":"k2")", R"("runnable_key":"k1")")), "invalid_argument");
  EXPECT_EQ(code(changed(R"("status":"available")", R"("status":"claimed")")), "invalid_argument");
  EXPECT_EQ(code(changed(R"("status":"available")", R"("status":"completed")")),
            "invalid_argument");
  EXPECT_EQ(code(changed(R"("order":4)", R"("order":1)")), "invalid_argument");
  EXPECT_EQ(code(changed(R"("next_order":5)", R"("next_order":3)")), "invalid_argument");
}

TEST_F(Stored, cut_bytes_are_refused_wherever_they_are_cut) {
  const std::string bytes = state_.encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_NE(code(bytes.substr(0, size)), "ok") << size;
  }
}

TEST_F(Stored, changed_bytes_never_do_more_than_give_another_state) {
  const std::string bytes = state_.encode();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = damaged[at] == '1' ? '2' : '1';
    const auto read = DispatchProjection::decode(damaged);
    if (read.ok()) {
      read.value()->advance(ms(600));
      static_cast<void>(read.value()->next_claimable({}, ms(600)));
      EXPECT_FALSE(read.value()->encode().empty());
    }
  }
}

}  // namespace
}  // namespace holdfast::dispatch_projection_test

// The idempotency keys that workers receive: one for all attempts at a visit or item of a step, and
// a different one for everything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/core_fixture.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_key_test {
namespace {

using ::testing::IsEmpty;

constexpr std::string_view kRetried =
    R"([{"name":"pay","lease_ms":1000,"retry":{"max_attempts":9,"delay_ms":10}}])";

std::shared_ptr<const Definition> workflow(const std::string& rest) {
  return must(Definition::parse(R"({"workflow":"order",)" + rest + "}"));
}

class IdempotencyKey : public CoreTest {
 protected:
  TestCore& open_with(const std::shared_ptr<const Definition>& definition) {
    TestCore& core = open();
    core.start(start_of(1, definition));
    core.settle();
    return core;
  }
  // The next attempt, without heartbeats.
  Assignment next(TestCore& core) {
    const auto worker = core.worker();
    core.settle();
    if (worker->calls == 0) {
      core.core.withdraw_request(worker->waiting);
      ADD_FAILURE() << "no attempt is visible";
      return {};
    }
    core.core.drop(worker->assignment().claim_id);
    names_.insert(worker->assignment().runnable_key.str());
    return worker->assignment();
  }
  Assignment next_after(TestCore& core, std::int64_t by_ms) {
    clock_.advance_ms(by_ms);
    core.core.check_for_changes();
    core.settle();
    return next(core);
  }
  static void complete(TestCore& core, const Assignment& given, std::string_view result = "{}",
                       std::string_view opts = "") {
    Completion done = completion(result);
    done.execution_opts = opts.empty() ? Payload() : Payload::trusted(opts);
    const auto answer = core.complete(proof_of(given), done);
    core.settle();
    EXPECT_EQ(answer->code(), "ok");
  }
  static void fail(TestCore& core, const Assignment& given) {
    const auto answer = core.fail(proof_of(given), failure());
    core.settle();
    EXPECT_EQ(answer->code(), "ok");
  }
  // The journal has the same key for every reader, and no rule is broken.
  void expect_in_journal(const Assignment& given) {
    auto journal = open_memory_journal(disk_);
    const Audit found = audit(journal->log());
    EXPECT_THAT(found.anomalies(), IsEmpty());
    const std::string_view name = given.runnable_key.view();
    EXPECT_EQ(found.runs.at(given.run_id)->find(name)->plan.idempotency_key, given.idempotency_key);
    EXPECT_EQ(found.queues.at(given.queue)->find(name)->idempotency_key, given.idempotency_key);
  }

  std::set<std::string> names_;  // of the attempts that were claimed
};

TEST_F(IdempotencyKey, is_the_same_for_every_retry) {
  TestCore& core = open_with(definition_of(kRetried));
  const Assignment first = next(core);
  fail(core, first);
  for (int retry = 2; retry <= 4; ++retry) {
    const Assignment again = next_after(core, 10);
    EXPECT_EQ(again.attempt_number, static_cast<std::uint32_t>(retry));
    EXPECT_EQ(again.idempotency_key, first.idempotency_key);
    expect_in_journal(again);
    fail(core, again);
  }
  EXPECT_EQ(names_.size(), 4U) << "each attempt has its own name";
}

TEST_F(IdempotencyKey, is_the_same_after_a_lost_lease) {
  TestCore& core = open_with(definition_of(kRetried));
  const Assignment lost = next(core);
  const Assignment heir = next_after(core, 1000);
  EXPECT_EQ(heir.runnable_key, lost.runnable_key);
  EXPECT_NE(heir.claim_id, lost.claim_id);
  EXPECT_EQ(heir.idempotency_key, lost.idempotency_key);
}

TEST_F(IdempotencyKey, is_the_same_after_a_restart_with_and_without_a_checkpoint) {
  TestCore& core = open_with(definition_of(kRetried));
  const Assignment first = next(core);
  fail(core, first);
  TestCore& restarted = open();
  const Assignment second = next_after(restarted, 10);
  EXPECT_EQ(second.idempotency_key, first.idempotency_key);
  fail(restarted, second);
  restarted.core.request_checkpoint();
  restarted.decide();
  must(Core::save(*restarted.journal, restarted.core.take_checkpoint().value()));
  TestCore& from_checkpoint = open();
  const Assignment third = next_after(from_checkpoint, 10);
  EXPECT_EQ(third.attempt_number, 3U);
  EXPECT_EQ(third.idempotency_key, first.idempotency_key);
  expect_in_journal(third);
  EXPECT_EQ(folded_anew(), from_checkpoint.core.state().encode());
}

TEST_F(IdempotencyKey, is_the_same_after_a_deferral_and_a_retry_of_the_deferred_attempt) {
  TestCore& core = open_with(definition_of(kRetried));
  const Assignment first = next(core);
  complete(core, first, "{}", R"({"defer":{"reason":"not yet","schedule_in_ms":50}})");
  const Assignment deferred = next_after(core, 50);
  EXPECT_NE(deferred.runnable_key, first.runnable_key);
  EXPECT_EQ(deferred.idempotency_key, first.idempotency_key);
  expect_in_journal(deferred);
  fail(core, deferred);
  const Assignment retried = next_after(core, 10);
  EXPECT_EQ(retried.attempt_number, 2U);
  EXPECT_EQ(retried.idempotency_key, first.idempotency_key);
  complete(core, retried, "{}", R"({"defer":{}})");
  EXPECT_EQ(next(core).idempotency_key, first.idempotency_key);
}

TEST_F(IdempotencyKey, is_the_same_after_a_timeout) {
  TestCore& core = open_with(
      definition_of(R"([{"name":"pay","lease_ms":60000,"timeout":{"start_to_close_ms":5000},)"
                    R"("retry":{"max_attempts":2,"delay_ms":10}}])"));
  const Assignment slow = next(core);
  clock_.advance_ms(5000);
  core.settle();
  const Assignment second = next_after(core, 10);
  EXPECT_EQ(second.attempt_number, 2U);
  EXPECT_EQ(second.idempotency_key, slow.idempotency_key);
}

TEST_F(IdempotencyKey, differs_for_each_visit) {
  TestCore& core = open_with(workflow(
      R"("entry":"poll","steps":[{"name":"poll","retry":{"max_attempts":2,"delay_ms":10}}],)"
      R"("transitions":[{"from":"poll","to":"complete","when":{"path":"ready","equals":true}},)"
      R"({"from":"poll","to":"poll"}])"));
  std::set<SharedText> keys;
  for (int visit = 1; visit <= 3; ++visit) {
    const Assignment first = next(core);
    EXPECT_TRUE(keys.insert(first.idempotency_key).second) << "visit " << visit;
    fail(core, first);
    const Assignment second = next_after(core, 10);
    EXPECT_EQ(second.idempotency_key, first.idempotency_key);
    complete(core, second, R"({"ready":false})");
  }
}

TEST_F(IdempotencyKey, differs_for_each_item) {
  TestCore& core = open_with(definition_of(R"([{"name":"send","for_each":{"items":[1,2,3]},)"
                                           R"("retry":{"max_attempts":2,"delay_ms":10}}])"));
  std::map<std::string, SharedText> keys;
  for (int item = 0; item < 3; ++item) {
    const Assignment given = next(core);
    keys.emplace(given.step.str(), given.idempotency_key);
    fail(core, given);
  }
  EXPECT_EQ(std::set<SharedText>({keys["send[0]"], keys["send[1]"], keys["send[2]"]}).size(), 3U);
  clock_.advance_ms(10);
  for (int item = 0; item < 3; ++item) {
    const Assignment again = next(core);
    EXPECT_EQ(again.attempt_number, 2U);
    EXPECT_EQ(again.idempotency_key, keys.at(again.step.str())) << again.step.view();
  }
}

TEST_F(IdempotencyKey, differs_for_a_replay) {
  TestCore& core = open_with(definition_of(kRetried));
  const Assignment first = next(core);
  complete(core, first);
  ReplayRun again;
  again.run_id = run_no(2);
  const auto started = core.execute<Started>([&](Turn& turn) -> Result<Started> {
    HOLDFAST_TRY(const RunProjection* source, turn.state().runs().get(run_no(1)));
    HOLDFAST_TRY(const StartRun command, plan_replay(*source, again));
    return start_run(turn, command, IdOrigin::given);
  });
  core.settle();
  ASSERT_EQ(started->code(), "ok");
  const Assignment repeated = next(core);
  EXPECT_EQ(repeated.run_id, run_no(2));
  EXPECT_NE(repeated.idempotency_key, first.idempotency_key);
}

TEST_F(IdempotencyKey, of_a_compensation_is_its_own_and_the_same_for_its_retries) {
  TestCore& core = open_with(definition_of(
      R"([{"name":"pay","compensate":{"handler":"refund",)"
      R"("retry":{"max_attempts":3,"delay_ms":10}}},{"name":"ship","after":["pay"]}])"));
  const Assignment paid = next(core);
  complete(core, paid);
  fail(core, next(core));
  const Assignment refund = next(core);
  EXPECT_EQ(refund.step, SharedText("compensate:pay"));
  EXPECT_NE(refund.idempotency_key, paid.idempotency_key);
  fail(core, refund);
  EXPECT_EQ(next_after(core, 10).idempotency_key, refund.idempotency_key);
}

// The id of a child that a handler starts derives from its step and key, not from the attempt.
TEST_F(IdempotencyKey, and_the_children_of_a_handler_are_the_same_after_a_retry) {
  TestCore& core = open_with(definition_of(kRetried));
  std::vector<RunId> children;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const Assignment given = attempt == 1 ? next(core) : next_after(core, 10);
    StartChild command;
    command.origin = {given.runnable_key, given.step, given.attempt_number};
    command.definition = definition_of(R"([{"name":"wait","wait":"1h"}])", "parcel");
    command.child_key = given.idempotency_key;
    const auto started =
        core.execute<Started>([&](Turn& turn) { return start_child(turn, given.run_id, command); });
    core.settle();
    ASSERT_EQ(started->code(), "ok");
    EXPECT_EQ(started->result->value().existed, attempt == 2);
    children.push_back(started->result->value().run_id);
    fail(core, given);
  }
  EXPECT_EQ(children[0], children[1]);
}

// Journals of older versions, in which each attempt had its own key.

class OlderKey : public IdempotencyKey {
 protected:
  // The second attempt, as an older version left it.
  enum class Left : std::uint8_t { planned, unplanned };
  void write(Left left) {
    auto journal = open_memory_journal(disk_);
    Scribe old(*journal, 1, definition_of(kRetried));
    old.register_definition();
    old.start();
    old.schedule("pay");
    old.claim("pay");
    const std::string second = to_string(run_no(1)) + ":pay:2";
    auto failed = old.of_claim<AttemptFailed>("pay", "dead");
    failed.error = Payload::trusted(R"({"code":"declined"})");
    failed.retry_runnable_key = second;
    failed.retry_visible_at = after(old.now, 10);
    const Runnable first = old.run.latest("pay")->plan;
    old.emit(DispatchFact(failed));
    if (left == Left::planned) {
      Runnable plan = first;
      plan.runnable_key = second;
      plan.idempotency_key = second;
      plan.attempt_number = 2;
      plan.visible_at = *failed.retry_visible_at;
      old.emit(RunFact(RunnablesPlanned{run_no(1), {plan}}));
    }
  }
  // Every later attempt keeps the key under which the step may have been executed.
  void expect_carried_on() {
    TestCore& core = open();
    core.settle();
    const Assignment second = next_after(core, 10);
    EXPECT_EQ(second.attempt_number, 2U);
    EXPECT_EQ(second.idempotency_key, second.runnable_key);
    expect_in_journal(second);
    fail(core, second);
    const Assignment third = next_after(core, 10);
    EXPECT_EQ(third.attempt_number, 3U);
    EXPECT_EQ(third.idempotency_key, second.idempotency_key);
    expect_in_journal(third);
    EXPECT_EQ(folded_anew(), core.core.state().encode());
  }
};

TEST_F(OlderKey, is_kept_by_all_later_attempts) {
  write(Left::planned);
  expect_carried_on();
}

TEST_F(OlderKey, is_kept_when_the_older_version_died_before_it_planned_the_retry) {
  write(Left::unplanned);
  expect_carried_on();
}

}  // namespace
}  // namespace holdfast::engine_key_test

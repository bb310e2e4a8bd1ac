// The oracle agrees with the engine about random workflows, and finds planted violations.
#include "lab/sim/oracle.h"

#include <gtest/gtest.h>

#include "lab/sim/sim_value.h"
#include "storage/journal/journal_history.h"
#include "tests/support/workflow_author.h"

namespace holdfast::sim::oracle_test {
namespace {

using Batches = std::vector<std::vector<StoredFact>>;

Batches batches_of(Log& log) {
  Batches batches;
  for (const std::string& body : bodies_from(log, Position{1})) {
    batches.emplace_back();
    BodyScanner scanner(Position{batches.size()}, body);
    while (const auto entry = must(scanner.next())) {
      StoredFact fact;
      fact.thread = std::string(entry->thread);
      fact.kind = std::string(entry->kind);
      fact.at = entry->at;
      fact.data = std::string(entry->data);
      batches.back().push_back(fact);
    }
  }
  return batches;
}

// Passes facts with the numbers that a store would assign, whatever was changed.
void feed(Oracle& oracle, Batches batches) {
  std::map<std::string, std::uint64_t> next;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    std::uint32_t index = 0;
    for (StoredFact& fact : batches[i]) {
      fact.position = i + 1;
      fact.index = index++;
      fact.seq = next[fact.thread]++;
      oracle.stored(fact);
    }
    oracle.batch_ends(i + 1);
  }
}

std::vector<std::string> violations_in(const Batches& batches) {
  Oracle oracle;
  feed(oracle, batches);
  return oracle.take_violations();
}

std::map<std::string, std::string> steps_of(const RunProjection& run) {
  std::map<std::string, std::string> steps;
  for (const PlannedRunnable* planned : run.runnables()) {
    if (!planned->plan.is_timer() && run.latest(planned->plan.step.view()) == planned) {
      steps[planned->plan.step.str()] = planned->withdrawn ? "withdrawn"
                                        : planned->applied ? "applied"
                                                           : "open";
    }
  }
  return steps;
}

void expect_same(const Oracle& oracle, const RunProjection& run) {
  const Value mine = Value::parse(oracle.run(to_string(run.run_id())));
  EXPECT_EQ(mine["status"].string(), to_text(run.status()));
  EXPECT_EQ(mine["context"].text(), Value::parse(run.context().view()).text());
  const bool ended = run.is_terminal() && !run.terminal()->error.empty();
  EXPECT_EQ(mine["error"].text(),
            ended ? Value::parse(run.terminal()->error.view()).text() : Value().text());
  std::map<std::string, std::string> steps;
  for (const auto& [step, status] : mine["steps"].members()) {
    const bool applied = status.string() == "completed" || status.string() == "failed";
    steps[step] = applied ? "applied" : status.string();
  }
  EXPECT_EQ(steps, steps_of(run));
}

TEST(Oracle, agrees_with_the_engine_about_random_workflows) {
  std::map<std::string, std::uint64_t> tested;
  for (std::uint64_t seed = 1; seed <= seeds(600); ++seed) {
    const std::string definition = Author(seed).write();
    if (!Definition::parse(definition).ok()) {
      continue;
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + definition);
    WorkflowWorld world(script_of(seed, definition));
    world.play();
    Oracle oracle;
    feed(oracle, batches_of(world.journal().log()));
    for (const std::string& violation : oracle.take_violations()) {
      ADD_FAILURE() << violation;
    }
    for (const RunId& id : world.run_ids()) {
      expect_same(oracle, *world.load(id));
    }
    for (const auto& [guarantee, times] : oracle.tested()) {
      tested[guarantee] += times;
    }
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  for (const char* guarantee :
       {"applied_once", "backoff",     "branch",          "cancel",    "child",
        "compensation", "defer",       "dependency",      "end",       "error_route",
        "event",        "fence",       "idempotency_key", "items",     "join",
        "lease",        "manual",      "not_early",       "one_claim", "receipt",
        "retry",        "run_timeout", "terminal_final",  "visible",   "wait",
        "withdrawn"}) {
    EXPECT_GT(tested[guarantee], 0U) << guarantee << " was never tested";
  }
}

// ------------------------------------------------------------------------------------------------
// Planted violations

// charge, then ship if n is above 1, otherwise a short wait; then bill after both paths.
class Violations : public testing::Test {
 protected:
  static constexpr const char* kDefinition = R"({"workflow":"flow","timeout":"1h","steps":[
      {"name":"charge","retry":{"max_attempts":2,"delay_ms":100},"compensate":"undo"},
      {"name":"ship"},{"name":"rest","wait":"10s"},
      {"name":"ask","approval":true},
      {"name":"bill","after":["charge","ask"]}],
      "transitions":[{"from":"charge","to":"ship","when":{"path":"n","greater":1}},
                     {"from":"charge","to":"rest"}]})";

  // n: the result of charge; bad: the number of failures before it; broken: bill fails permanently.
  Batches played(int n, int bad = 0, bool broken = false) {
    WorldScript script;
    script.definitions = {kDefinition};
    script.handler = [=](const Assignment& given) -> WorldOutcome {
      const std::string key(given.runnable_key.view());
      for (int i = 1; i <= bad; ++i) {
        if (key.ends_with(":charge:" + std::to_string(i))) {
          return breaks("busy");
        }
      }
      if (broken && key.find(":bill:") != std::string::npos) {
        return breaks("gone", false);
      }
      return says(R"({"n":)" + std::to_string(n) + "}");
    };
    WorkflowWorld world(script);
    world.play();
    Batches batches = batches_of(world.journal().log());
    EXPECT_EQ(violations_in(batches), std::vector<std::string>());
    return batches;
  }

  // The first fact of that kind that contains the text.
  static StoredFact& find(Batches& batches, const std::string& kind, const std::string& text = "") {
    for (auto& batch : batches) {
      for (StoredFact& fact : batch) {
        if (fact.kind == kind && fact.data.find(text) != std::string::npos) {
          return fact;
        }
      }
    }
    throw std::runtime_error("no " + kind + " contains " + text);
  }
  // Inserts a copy after it.
  static void put_twice(Batches& batches, const std::string& kind, const std::string& text = "") {
    const StoredFact copy = find(batches, kind, text);
    for (auto& batch : batches) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (batch[i].kind == kind && batch[i].data == copy.data) {
          batch.insert(batch.begin() + static_cast<std::ptrdiff_t>(i), copy);
          return;
        }
      }
    }
  }
  static void drop(Batches& batches, const std::string& kind, const std::string& text = "") {
    const std::string data = find(batches, kind, text).data;
    for (auto& batch : batches) {
      std::erase_if(batch,
                    [&](const StoredFact& fact) { return fact.kind == kind && fact.data == data; });
    }
  }
  static void replace(StoredFact& fact, const std::string& old, const std::string& with) {
    const std::size_t at = fact.data.find(old);
    ASSERT_NE(at, std::string::npos) << old << " is not in " << fact.data;
    fact.data.replace(at, old.size(), with);
  }
  static void expect(const std::string& guarantee, const Batches& batches) {
    const auto violations = violations_in(batches);
    const bool named = std::any_of(violations.begin(), violations.end(), [&](const auto& text) {
      return text.starts_with(guarantee + ":");
    });
    EXPECT_TRUE(named) << "no violation of " << guarantee
                       << (violations.empty() ? "" : ", but of " + violations.front());
  }
};

TEST_F(Violations, wrong_token) {
  auto batches = played(2);
  StoredFact& fact = find(batches, "attempt_completed");
  fact.data.replace(fact.data.find("claim_token_hash") + 19, 4, "0000");
  expect("fence", batches);
}

TEST_F(Violations, second_claim_while_the_first_holds) {
  auto batches = played(2);
  put_twice(batches, "attempt_claimed");
  expect("one_claim", batches);
}

TEST_F(Violations, claim_before_its_time) {
  auto batches = played(2, 1);
  find(batches, "attempt_claimed", ":charge:2").at.value -= 60;
  expect("visible", batches);
}

TEST_F(Violations, result_after_the_lease) {
  auto batches = played(2);
  find(batches, "attempt_completed").at.value += 30'000;
  expect("lease", batches);
}

TEST_F(Violations, second_outcome) {
  auto batches = played(2);
  put_twice(batches, "attempt_completed");
  expect("one_outcome", batches);
}

TEST_F(Violations, claim_of_an_attempt_that_was_never_scheduled) {
  auto batches = played(2);
  replace(find(batches, "attempt_claimed"), ":charge:1\"", ":charge:7\"");
  expect("known_attempt", batches);
}

TEST_F(Violations, second_application) {
  auto batches = played(2);
  put_twice(batches, "runnable_applied", ":charge:1");
  expect("applied_once", batches);
}

TEST_F(Violations, missing_application) {
  auto batches = played(2);
  drop(batches, "runnable_applied", ":charge:1");
  expect("applied", batches);
}

TEST_F(Violations, application_of_another_result) {
  auto batches = played(2);
  replace(find(batches, "runnable_applied", ":charge:1"), R"("n":2)", R"("n":3)");
  expect("applied", batches);
}

TEST_F(Violations, application_before_the_completion) {
  auto batches = played(2);
  for (auto& batch : batches) {
    if (batch.front().kind == "attempt_completed") {
      std::swap(batch[0], batch[1]);
      break;
    }
  }
  expect("applied", batches);
}

TEST_F(Violations, wrong_branch) {
  auto batches = played(2);
  replace(find(batches, "runnable_applied", ":charge:1"), R"("to":"ship")", R"("to":"rest")");
  expect("applied", batches);
}

TEST_F(Violations, step_that_the_branch_does_not_lead_to) {
  auto batches = played(1);
  StoredFact& fact = find(batches, "runnables_planned", ":rest:1");
  for (int i = 0; i < 3; ++i) {
    replace(fact, i < 2 ? ":rest:1" : R"("step":"rest")", i < 2 ? ":ship:1" : R"("step":"ship")");
  }
  expect("planned", batches);
}

TEST_F(Violations, step_before_its_dependency) {
  auto batches = played(2);
  const StoredFact early = find(batches, "runnables_planned", ":bill:1");
  const StoredFact scheduled = find(batches, "attempt_scheduled", ":bill:1");
  drop(batches, "runnables_planned", ":bill:1");
  drop(batches, "attempt_scheduled", ":bill:1");
  batches[1].push_back(early);
  batches[1].push_back(scheduled);
  expect("dependency", batches);
}

TEST_F(Violations, missing_join) {
  auto batches = played(2);
  drop(batches, "runnables_planned", ":bill:1");
  drop(batches, "attempt_scheduled", ":bill:1");
  expect("join", batches);
}

TEST_F(Violations, plan_without_a_schedule) {
  auto batches = played(2);
  drop(batches, "attempt_scheduled", ":charge:1");
  expect("scheduled", batches);
}

TEST_F(Violations, input_that_differs_from_the_context) {
  auto batches = played(2);
  replace(find(batches, "runnables_planned", ":ship:1"), R"("input":{"n":2})",
          R"("input":{"n":9})");
  expect("branch", batches);
}

TEST_F(Violations, timer_before_its_time) {
  auto batches = played(1);
  find(batches, "runnable_applied", ":rest:1").at.value -= 1;
  expect("not_early", batches);
}

TEST_F(Violations, wait_of_another_length) {
  auto batches = played(1);
  replace(find(batches, "runnables_planned", ":rest:1"), R"("visible_at":170)",
          R"("visible_at":169)");
  expect("wait", batches);
}

TEST_F(Violations, retry_that_no_policy_allows) {
  auto batches = played(2, 1);
  StoredFact& fact = find(batches, "attempt_failed");
  const std::size_t at = fact.data.find(R"(,"retry_runnable_key")");
  const StoredFact whole = fact;
  fact.data = fact.data.substr(0, at) + "}";
  expect("planned", batches);
  fact = whole;
  replace(fact, ":charge:2", ":charge:3");
  expect("retry", batches);
}

TEST_F(Violations, retry_with_an_idempotency_key_of_its_own) {
  auto batches = played(2, 1);
  StoredFact& fact = find(batches, "attempt_failed");
  const std::string key = Value::parse(fact.data)["retry_idempotency_key"].string();
  EXPECT_TRUE(key.ends_with(":charge:1")) << key;
  const StoredFact whole = fact;
  const std::string member = R"("retry_idempotency_key":")";
  replace(fact, member + key, member + key.substr(0, key.size() - 1) + "2");
  expect("idempotency_key", batches);
  fact = whole;
  StoredFact& planned = find(batches, "runnables_planned", ":charge:2");
  replace(planned, R"("idempotency_key":")" + key,
          R"("idempotency_key":")" + key.substr(0, key.size() - 1) + "2");
  expect("retry", batches);
}

TEST_F(Violations, decision_without_a_command) {
  auto batches = played(2);
  drop(batches, "run_signal_received", "approve_run");
  expect("receipt", batches);
}

TEST_F(Violations, decision_without_a_pause) {
  auto batches = played(2);
  drop(batches, "manual_step_paused");
  expect("manual", batches);
}

TEST_F(Violations, wrong_end) {
  auto batches = played(2);
  replace(find(batches, "run_terminal"), "completed", "cancelled");
  expect("end", batches);
}

TEST_F(Violations, second_end) {
  auto batches = played(2);
  StoredFact other = find(batches, "run_terminal");
  replace(other, "completed", "failed");
  batches.push_back({other});
  expect("terminal_final", batches);
}

TEST_F(Violations, missing_end) {
  auto batches = played(2);
  drop(batches, "run_terminal");
  expect("end", batches);
}

TEST_F(Violations, work_after_the_end) {
  auto batches = played(2);
  batches.push_back({find(batches, "attempt_claimed")});
  expect("terminal_final", batches);
}

TEST_F(Violations, missing_compensation) {
  auto batches = played(2, 0, true);
  find(batches, "compensation_started");
  drop(batches, "runnables_planned", "compensate:charge");
  drop(batches, "attempt_scheduled", "compensate:charge");
  expect("compensation", batches);
}

TEST_F(Violations, compensation_that_withdraws_another_runnable) {
  auto batches = played(2, 0, true);
  replace(find(batches, "runnables_withdrawn"), ":__run__:1", ":charge:1");
  expect("withdrawn", batches);
}

TEST_F(Violations, spec_with_another_fingerprint) {
  auto batches = played(2);
  replace(find(batches, "definition_registered"), R"("greater":1)", R"("greater":7)");
  expect("fingerprint", batches);
}

TEST_F(Violations, missing_entry_in_a_thread) {
  auto batches = played(2);
  Oracle oracle;
  std::uint64_t seq = 0;
  for (StoredFact fact : batches.front()) {
    fact.seq = fact.thread.starts_with("run:") ? ++seq : 0;
    oracle.stored(fact);
  }
  const auto violations = oracle.take_violations();
  ASSERT_FALSE(violations.empty());
  EXPECT_TRUE(violations.front().starts_with("thread_order:")) << violations.front();
}

// ------------------------------------------------------------------------------------------------
// Answers

class Answers : public Violations {
 protected:
  // The run has started and charge is claimed.
  void SetUp() override {
    batches_ = played(2);
    feed(oracle_, {batches_[0], batches_[1]});
    const StoredFact& claimed = find(batches_, "attempt_claimed");
    claim_ = Value::parse(claimed.data);
    at_ = claimed.at;
    ASSERT_EQ(oracle_.take_violations(), std::vector<std::string>());
  }
  Value proof() const {
    Value params;
    params.set("run_id", claim_["run_id"]);
    params.set("runnable_key", claim_["runnable_key"]);
    params.set("claim_id", claim_["claim_id"]);
    params.set("token_hash", claim_["claim_token_hash"]);
    params.set("result", Value::parse(R"({"n":2})"));
    return params;
  }
  // The guarantee that was violated; empty: none.
  std::string violation_of(Answer::What what, const Value& params, const std::string& code,
                           std::int64_t later_ms = 1) {
    Answer answer;
    answer.what = what;
    answer.at.value = at_.value + later_ms;
    answer.params = params.text();
    answer.code = code;
    oracle_.answered(answer);
    return violated();
  }
  std::string violated() {
    const auto violations = oracle_.take_violations();
    return violations.empty() ? "" : violations.front().substr(0, violations.front().find(':'));
  }

  static constexpr auto kComplete = Answer::What::complete;
  Batches batches_;
  Oracle oracle_;
  Value claim_;
  TimeMs at_;
};

TEST_F(Answers, holder_gets_ok_until_the_lease_expires) {
  EXPECT_EQ(violation_of(Answer::What::heartbeat, proof(), "ok"), "");
  EXPECT_EQ(violation_of(kComplete, proof(), "ok"), "");
  EXPECT_EQ(violation_of(kComplete, proof(), "stale_claim"), "answer");
  EXPECT_EQ(violation_of(kComplete, proof(), "expired_claim", 30'000), "");
  EXPECT_EQ(violation_of(kComplete, proof(), "ok", 30'000), "answer_expired");
}

TEST_F(Answers, other_workers_do_not_get_ok) {
  Value other = proof();
  other.set("token_hash", "0000");
  EXPECT_EQ(violation_of(kComplete, other, "ok"), "answer_stale");
  EXPECT_EQ(violation_of(kComplete, other, "stale_claim"), "");
  other.set("runnable_key", "nothing");
  EXPECT_EQ(violation_of(kComplete, other, "ok"), "answer");
  EXPECT_EQ(violation_of(kComplete, other, "unknown_runnable_intent"), "");
}

TEST_F(Answers, repeated_report_gets_the_same_answer) {
  oracle_.stored([&] {
    StoredFact fact = find(batches_, "attempt_completed");
    fact.seq = batches_[1].size() + 4;
    return fact;
  }());
  static_cast<void>(oracle_.take_violations());
  EXPECT_EQ(violation_of(kComplete, proof(), "ok", 40'000), "");
  EXPECT_EQ(violation_of(kComplete, proof(), "stale_claim"), "repeat");
  Value other = proof();
  other.set("result", Value::parse(R"({"n":3})"));
  EXPECT_EQ(violation_of(kComplete, other, "conflicting_completion"), "");
  EXPECT_EQ(violation_of(kComplete, other, "ok"), "repeat");
}

TEST_F(Answers, ok_that_is_not_durable) {
  EXPECT_EQ(violation_of(kComplete, proof(), "ok"), "");
  oracle_.batch_ends(3);
  EXPECT_EQ(violated(), "durable");
}

TEST_F(Answers, commands_to_a_missing_or_ended_run) {
  Value params;
  params.set("run_id", "missing");
  EXPECT_EQ(violation_of(Answer::What::cancel, params, "ok"), "answer");
  EXPECT_EQ(violation_of(Answer::What::cancel, params, "run_not_found"), "");
  Oracle after;
  feed(after, batches_);
  Answer answer;
  answer.what = Answer::What::cancel;
  params.set("run_id", claim_["run_id"]);
  answer.params = params.text();
  answer.code = "invalid_transition";
  after.answered(answer);
  EXPECT_EQ(after.take_violations(), std::vector<std::string>());
  answer.code = "ok";
  after.answered(answer);
  EXPECT_FALSE(after.take_violations().empty());
}

TEST_F(Answers, assignment_is_the_attempt_that_was_claimed) {
  Answer answer;
  answer.what = Answer::What::claim;
  answer.params = "{}";
  answer.code = "ok";
  Value given;
  given.set("runnable_key", claim_["runnable_key"]);
  given.set("claim_id", claim_["claim_id"]);
  const auto violation_of = [&](const std::string& name, const Value& value) {
    given.set(name, value);
    answer.result = given.text();
    oracle_.answered(answer);
    return violated();
  };
  EXPECT_EQ(violation_of("step", "charge"), "");
  EXPECT_EQ(violation_of("idempotency_key", claim_["runnable_key"]), "");
  EXPECT_EQ(violation_of("step", "ship"), "assignment");
  EXPECT_EQ(violation_of("idempotency_key", "another"), "idempotency_key");
}

// Every missing or repeated fact is a violation, except where it has no effect.
TEST(Oracle, finds_missing_and_repeated_facts) {
  std::uint64_t tried = 0;
  for (std::uint64_t seed = 1; seed <= seeds(60); ++seed) {
    const std::string definition = Author(seed).write();
    if (!Definition::parse(definition).ok()) {
      continue;
    }
    WorkflowWorld world(script_of(seed, definition));
    world.play();
    const Batches whole = batches_of(world.journal().log());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const std::size_t which = draw(seed, "fact " + std::to_string(i), whole[i].size());
      const StoredFact& fact = whole[i][which];
      const bool by_time = fact.data.find("run_timeout") != std::string::npos;
      Batches twice = whole;
      twice[i].insert(twice[i].begin() + static_cast<std::ptrdiff_t>(which), fact);
      if (fact.kind != "workflow_registered") {
        EXPECT_FALSE(violations_in(twice).empty()) << "twice: " << fact.kind << " " << fact.data;
      }
      Batches without = whole;
      without[i].erase(without[i].begin() + static_cast<std::ptrdiff_t>(which));
      // A fact that a clock causes may come later; a fact that is scheduled and withdrawn in the
      // same batch is not checked.
      const bool ends = std::any_of(whole[i].begin(), whole[i].end(), [](const StoredFact& other) {
        return other.kind == "run_terminal" || other.kind == "runnables_withdrawn";
      });
      if (fact.kind != "workflow_registered" && !by_time && !(ends && which > 0)) {
        EXPECT_FALSE(violations_in(without).empty())
            << "left out: " << fact.kind << " " << fact.data;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 100U);
}

}  // namespace
}  // namespace holdfast::sim::oracle_test

// Each check of the doctor finds its own kind of problem, and no other check reports it.
#include "runs/inspect/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/inspect/inspector.h"
#include "tests/support/recovery_fixture.h"

namespace holdfast::doctor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Found = std::vector<std::string>;

class DoctorTest : public Recovery {
 protected:
  Diagnosis diagnosis(const At& at = {}) { return must(Inspector(*journal_, clock_).doctor(at)); }
  // "expired_claims 1", for each check that found something.
  Found found(const At& at = {}) {
    Found found;
    for (const Check& check : diagnosis(at).checks) {
      if (check.count > 0) {
        found.push_back(check.name + " " + std::to_string(check.count));
      }
      EXPECT_EQ(check.findings.size(), std::min<std::uint64_t>(check.count, 20)) << check.name;
    }
    return found;
  }
  Check check(std::string_view name) {
    for (Check& check : diagnosis().checks) {
      if (check.name == name) {
        return check;
      }
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }
  // The only finding of a check: "<run> <step>: <summary> $ <command>".
  std::string finding(std::string_view name) {
    const Check found = check(name);
    if (found.findings.size() != 1) {
      ADD_FAILURE() << found.findings.size() << " findings of " << name;
      return {};
    }
    const Finding& one = found.findings.front();
    return one.run_id + " " + one.step + ": " + one.summary + " $ " + one.command;
  }
  std::string_view verdict() { return to_text(diagnosis().verdict()); }
  // A run whose definition is stored.
  Scribe& started(int run, const std::shared_ptr<const Definition>& definition) {
    Scribe& scribe = story(run, definition);
    scribe.register_definition();
    scribe.start();
    return scribe;
  }
  // The same, started by an engine.
  void run(int number, const std::shared_ptr<const Definition>& definition) {
    TestCore& core = open();
    const auto answer = core.start(start_of(number, definition));
    core.settle();
    ASSERT_EQ(answer->code(), "ok");
  }
};

std::string id(int number) { return to_string(run_no(number)); }

TEST_F(DoctorTest, a_healthy_store_has_no_findings) {
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(verdict(), "ok");
  started(1, one_).schedule("a");
  started(2, two_).work("a");
  stories_.back()->schedule("b");
  stories_.back()->claim("b", 30'000);
  run(3, definition_of(R"([{"name":"rest","wait":"1h"}])", "nap"));
  clock_.advance_ms(29'999);
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(verdict(), "ok");
  EXPECT_EQ(diagnosis().live_runs, 3U);
  Found names;
  for (const Check& check : diagnosis().checks) {
    names.push_back(check.name);
  }
  EXPECT_THAT(names, ElementsAre("wake_up_sources", "definitions", "unfinished_facts",
                                 "expired_claims", "overdue_attempts", "overdue_timers",
                                 "manual_intervention", "deadlines", "anomalies"));
}

TEST_F(DoctorTest, a_stuck_run_is_found) {
  Scribe& idle = started(1, one_);
  idle.schedule("a");
  idle.claim("a");
  idle.complete("a");
  RunnableApplied applied;
  applied.run_id = run_no(1);
  applied.runnable_key = idle.run.latest("a")->plan.runnable_key;
  applied.result = Payload::trusted("{}");
  idle.emit(applied);
  EXPECT_THAT(found(), ElementsAre("wake_up_sources 1"));
  EXPECT_EQ(
      finding("wake_up_sources"),
      id(1) +
          " : has nothing left to do but has not ended; the process that planned its steps did "
          "not continue $ holdfast explain " +
          id(1));
  EXPECT_EQ(verdict(), "fault");
  // A run that was never planned.
  Scribe& empty = story(2, one_);
  RunStarted began;
  began.run_id = run_no(2);
  began.workflow = "order";
  began.definition_version = "1";
  began.definition_fingerprint = one_->fingerprint();
  empty.emit(began);
  EXPECT_THAT(found(), ElementsAre("wake_up_sources 2"));
}

TEST_F(DoctorTest, a_run_whose_definition_is_missing_is_found) {
  Scribe& run = story(1, one_);
  run.start();
  run.schedule("a");
  EXPECT_THAT(found(), ElementsAre("definitions 1"));
  EXPECT_EQ(finding("definitions"),
            id(1) + " : follows a definition that is not stored here (workflow order, " +
                one_->fingerprint().str() + ") $ holdfast explain " + id(1));
  EXPECT_EQ(verdict(), "fault");
}

TEST_F(DoctorTest, a_planned_step_that_is_not_in_a_queue_is_found_while_its_run_is_live) {
  Scribe& run = started(1, one_);
  EXPECT_THAT(found(), ElementsAre("unfinished_facts 1"));
  EXPECT_EQ(finding("unfinished_facts"),
            id(1) + " a: " + id(1) + ":a:1 is planned but not in a queue $ holdfast work");
  EXPECT_EQ(verdict(), "fault");
  run.record(must(decide_cancel(run.run, {}, OnCancel::stop, nothing_around(), run.now)));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(DoctorTest, a_result_that_was_not_applied_is_found) {
  Scribe& run = started(1, two_);
  run.schedule("a");
  run.claim("a");
  run.complete("a");
  EXPECT_THAT(found(), ElementsAre("unfinished_facts 1"));
  EXPECT_EQ(finding("unfinished_facts"),
            id(1) + " a: the result of " + id(1) +
                ":a:1 is stored, but the run did not continue $ holdfast work");
}

TEST_F(DoctorTest, a_failure_that_was_not_handled_is_found) {
  Scribe& run = started(1, retried_);
  run.schedule("a");
  run.claim("a");
  run.fail("a", Scribe::Again::no);
  EXPECT_EQ(finding("unfinished_facts"),
            id(1) + " a: the failure of " + id(1) +
                ":a:1 is stored, but the run did not continue $ holdfast work");
  EXPECT_THAT(found(), ElementsAre("unfinished_facts 1"));
}

TEST_F(DoctorTest, a_child_that_was_not_started_is_found_until_it_starts) {
  Scribe& parent = started(1, one_);
  story(2, two_).register_definition();
  parent.schedule("a");
  const ChildRunStarted link = link_from(parent, two_);
  parent.emit(link);
  const At then{At::Kind::position, head().value, {}};
  EXPECT_THAT(found(), ElementsAre("unfinished_facts 1"));
  EXPECT_EQ(finding("unfinished_facts"), id(1) + " a: child run " + to_string(link.child_run_id) +
                                             " is linked but was not started $ holdfast work");
  open().settle();
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(found(then), ElementsAre("unfinished_facts 1")) << "at that position";
}

TEST_F(DoctorTest, a_lost_worker_is_found) {
  Scribe& run = started(1, one_);
  run.schedule("a");
  run.claim("a", 30'000, "worker-9");
  clock_.advance_ms(29'999);
  EXPECT_THAT(found(), IsEmpty());
  clock_.advance_ms(1);
  EXPECT_THAT(found(), ElementsAre("expired_claims 1"));
  EXPECT_EQ(finding("expired_claims"),
            id(1) +
                " a: worker-9 held it until 2023-11-14T22:13:50.000Z; no worker of queue "
                "default took it over $ holdfast explain " +
                id(1));
  EXPECT_EQ(verdict(), "fault");
}

TEST_F(DoctorTest, an_attempt_that_was_not_claimed_for_a_minute_is_found) {
  started(1, one_).schedule("a");
  clock_.advance_ms(59'999);
  EXPECT_THAT(found(), IsEmpty());
  clock_.advance_ms(1);
  EXPECT_THAT(found(), ElementsAre("overdue_attempts 1"));
  EXPECT_EQ(finding("overdue_attempts"),
            id(1) +
                " a: waits for a worker of queue default with handler a since "
                "2023-11-14T22:13:20.000Z $ holdfast explain " +
                id(1));
  EXPECT_EQ(verdict(), "warning");
}

TEST_F(DoctorTest, a_timer_that_is_overdue_by_a_minute_is_found) {
  run(1, definition_of(R"([{"name":"rest","wait":"10s"}])", "nap"));
  clock_.advance_ms(69'999);
  EXPECT_THAT(found(), IsEmpty());
  clock_.advance_ms(1);
  EXPECT_THAT(found(), ElementsAre("overdue_timers 1"));
  EXPECT_EQ(finding("overdue_timers"),
            id(1) + " rest: was due at 2023-11-14T22:13:30.000Z $ holdfast work");
  EXPECT_EQ(verdict(), "warning");
}

TEST_F(DoctorTest, a_run_that_waits_for_an_operator_is_found) {
  run(1,
      definition_of(R"([{"name":"manager","approval":{}},{"name":"other","pause":{}}])", "leave"));
  run(2, definition_of(R"([{"name":"paid","await_event":"payment"}])", "sale"));
  EXPECT_THAT(found(), ElementsAre("manual_intervention 3"));
  const Check waiting = check("manual_intervention");
  ASSERT_THAT(waiting.findings, SizeIs(3));
  EXPECT_EQ(waiting.findings[0].summary,
            "waits for approval manager, open since 2023-11-14T22:13:20.000Z");
  EXPECT_EQ(waiting.findings[0].command,
            "holdfast approve " + id(1) + " --step manager --actor YOU");
  EXPECT_EQ(waiting.findings[1].command, "holdfast resume " + id(1) + " --step other");
  EXPECT_EQ(waiting.findings[2].command, "holdfast signal " + id(2) + " payment");
  EXPECT_EQ(waiting.findings[2].step, "paid");
  EXPECT_EQ(verdict(), "warning");
}

TEST_F(DoctorTest, a_step_past_its_deadline_is_found) {
  Scribe& run = started(
      1, definition_of(R"([{"name":"a","deadline":{"within":"20s","due_soon":"5s"}}])", "rush"));
  run.schedule("a");
  clock_.advance_ms(19'999);
  EXPECT_THAT(found(), IsEmpty()) << "the deadline has not passed";
  clock_.advance_ms(1);
  EXPECT_THAT(found(), ElementsAre("deadlines 1"));
  EXPECT_EQ(finding("deadlines"),
            id(1) + " a: was due at 2023-11-14T22:13:40.000Z $ holdfast explain " + id(1));
  EXPECT_EQ(verdict(), "warning");
}

TEST_F(DoctorTest, an_anomaly_is_found) {
  Scribe& run = started(1, one_);
  run.schedule("a");
  run.claim("a");
  AttemptCompleted stranger = run.of_claim<AttemptCompleted>("a", "stranger");
  stranger.result = Payload::trusted("{}");
  run.emit(stranger);
  EXPECT_THAT(found(), ElementsAre("anomalies 1"));
  EXPECT_THAT(finding("anomalies"), HasSubstr("queue default: "));
  EXPECT_THAT(finding("anomalies"), HasSubstr("(attempt_completed) $ holdfast show " + id(1)));
  // In the thread of the run itself.
  RunnableApplied unknown;
  unknown.run_id = run_no(1);
  unknown.runnable_key = "nothing";
  run.emit(unknown);
  EXPECT_THAT(found(), ElementsAre("anomalies 2"));
  EXPECT_EQ(verdict(), "warning");
}

TEST_F(DoctorTest, the_verdict_is_that_of_the_worst_check) {
  started(1, one_).schedule("a");
  clock_.advance_ms(60'000);
  EXPECT_EQ(verdict(), "warning");
  started(2, one_);
  EXPECT_EQ(verdict(), "fault");
  EXPECT_EQ(to_text(check("overdue_attempts").verdict()), "warning");
  EXPECT_EQ(to_text(check("unfinished_facts").verdict()), "fault");
  EXPECT_EQ(to_text(check("anomalies").verdict()), "ok");
}

TEST_F(DoctorTest, twenty_findings_are_shown_and_all_are_counted) {
  one_ = definition_of(R"([{"name":"look","pause":{}}])");
  for (int number = 1; number <= 25; ++number) {
    run(number, one_);
  }
  EXPECT_THAT(found(), ElementsAre("manual_intervention 25"));
  EXPECT_THAT(check("manual_intervention").findings, SizeIs(20));
}

TEST_F(DoctorTest, boundaries_beyond_the_limit_of_an_explanation_are_counted) {
  std::string steps;
  for (int i = 0; i < 30; ++i) {
    steps += (i == 0 ? "" : ",") + (R"({"name":"s)" + std::to_string(i) + R"(","pause":{}})");
  }
  run(1, definition_of("[" + steps + "]", "many"));
  EXPECT_THAT(found(), ElementsAre("manual_intervention 30"));
}

TEST_F(DoctorTest, the_json_report_has_every_check) {
  run(1, definition_of(R"([{"name":"look","pause":{}}])"));
  clock_.advance_ms(5);
  const std::string text(to_json(diagnosis()).view());
  EXPECT_THAT(text, HasSubstr(R"({"schema_version":1,"verdict":"warning","live_runs":1,"checks":[)"
                              R"({"name":"wake_up_sources","question":"runs that nothing will )"
                              R"(advance","verdict":"ok","count":0,"findings":[]},)"));
  EXPECT_THAT(text, HasSubstr(R"({"name":"manual_intervention","question":"runs that wait for )"
                              R"(a person","verdict":"warning","count":1,"findings":[{"run_id":")" +
                              id(1) +
                              R"(","step":"look","summary":"was paused at step look at )"
                              R"(2023-11-14T22:13:20.000Z","command":"holdfast resume )" +
                              id(1) + R"( --step look"}]})"));
  EXPECT_THAT(text, HasSubstr(R"("as_of":{"position":)" + std::to_string(head().value) +
                              R"(,"time":1700000000005}})"));
}

}  // namespace
}  // namespace holdfast::doctor_test

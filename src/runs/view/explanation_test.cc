// What a run says of itself that waits for people, events, workers or time.
#include "runs/view/explanation.h"

#include <gmock/gmock.h>

#include "tests/support/explain_story.h"

namespace holdfast::explanation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kEngine = ": any program that has the store open, or this";

TEST(Explain, an_approval_waits_for_a_decision) {
  ExplainedStory story(R"([{"name":"manager","approval":{"reason":"order {order}"}},)"
                       R"({"name":"act","after":["manager"]}])");
  story.start();
  story.wait(100);
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("manual_intervention_required at manager, approval since 1000",
                          "waits for approval manager, open since 1970-01-01T00:00:01.000Z "
                          "(order 7)",
                          "> resolve_manual_step: approve it $ holdfast approve " + kRun +
                              " --step manager --actor YOU",
                          "> resolve_manual_step: reject it $ holdfast reject " + kRun +
                              " --step manager --actor YOU"));
  const Explanation why = story.why();
  EXPECT_EQ(why.workflow + why.version + why.queue + why.status, "order1defaultpaused");
  EXPECT_FALSE(why.terminal);
}

TEST(Explain, a_pause_waits_for_a_resume) {
  ExplainedStory story(R"([{"name":"look","pause":{}}])");
  story.start();
  EXPECT_THAT(
      lines_of(story.why()),
      ElementsAre("manual_intervention_required at look, pause since 1000",
                  "was paused at step look at 1970-01-01T00:00:01.000Z",
                  "> resolve_manual_step: resume it $ holdfast resume " + kRun + " --step look"));
}

TEST(Explain, a_reason_cannot_break_the_line_or_move_the_cursor) {
  ExplainedStory story(R"([{"name":"look","pause":{"reason":"see {order}"}}])");
  story.start(R"({"order":"a\nb\u001b[2J\u202ec"})");
  EXPECT_EQ(story.why().summary,
            "was paused at step look at 1970-01-01T00:00:01.000Z (see a b [2J c)");
}

TEST(Explain, an_event_may_come_at_any_time) {
  ExplainedStory story(R"([{"name":"paid","await_event":{"event":"payment"}}])");
  story.start();
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("manual_intervention_required at paid, event since 1000",
                          "waits for event payment at step paid since 1970-01-01T00:00:01.000Z",
                          "> deliver_external_event: send event payment $ holdfast "
                          "signal " +
                              kRun + " payment"));
}

TEST(Explain, an_event_with_a_timeout_is_waited_for_until_then) {
  ExplainedStory story(
      flow(R"([{"name":"paid","await_event":{"event":"payment",)"
           R"("correlation":"c-77","timeout":"5s","on_timeout":"remind"}},{"name":"remind"},)"
           R"({"name":"ship"}])",
           R"([{"from":"paid","to":"ship"}])"));
  story.start();
  story.wait(4999);
  const std::string sentence =
      "waits for event payment at step paid since 1970-01-01T00:00:01.000Z, until "
      "1970-01-01T00:00:06.000Z";
  const std::string signal =
      "> deliver_external_event: send event payment $ holdfast "
      "signal " +
      kRun + " payment --correlation VALUE";
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("manual_intervention_required at paid, event since 1000 until 6000",
                          sentence, signal,
                          "> inspect_event_wait_timeout: the wait times out at "
                          "1970-01-01T00:00:06.000Z @ 6000"));
  story.wait(1);
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("manual_intervention_required at paid, event since 1000 until 6000",
                          sentence, signal,
                          "> inspect_event_wait_timeout: the wait timed out at "
                          "1970-01-01T00:00:06.000Z; an engine process continues $ holdfast work @ "
                          "6000"));
  EXPECT_THAT(std::string(to_json(story.why()).view()), Not(HasSubstr("c-77")));
}

TEST(Explain, each_of_several_events_has_its_own_correlation) {
  ExplainedStory story(R"([{"name":"paid","await_event":{"any_of":[{"event":"payment"},)"
                       R"({"event":"refusal","correlation":"c-77"}]}}])");
  story.start();
  const Lines lines = lines_of(story.why());
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines.at(1),
            "waits for event payment or refusal at step paid since 1970-01-01T00:00:01.000Z");
  EXPECT_EQ(lines.at(2),
            "> deliver_external_event: send event payment $ holdfast signal " + kRun + " payment");
  EXPECT_EQ(lines.at(3), "> deliver_external_event: send event refusal $ holdfast signal " + kRun +
                             " refusal --correlation VALUE");
}

TEST(Explain, a_result_that_is_stored_waits_for_an_engine) {
  ExplainedStory story(kLine);
  story.start();
  story.claim("ask");
  story.wait(500);
  story.report_result("ask");
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("completed_result_pending_apply at ask, engine since 1500",
                          "knows the result of attempt 1 at step ask since "
                          "1970-01-01T00:00:01.500Z and has not continued with it yet",
                          "> apply_pending_result: an engine process continues with it" +
                              std::string(kEngine) + " $ holdfast work"));
  story.test.around.claimed.clear();
}

TEST(Explain, a_failure_that_is_stored_waits_for_an_engine) {
  ExplainedStory story(kLine);
  story.start();
  story.claim("ask");
  story.wait(500);
  story.report_failure("ask");
  EXPECT_EQ(lines_of(story.why()).at(0),
            "completed_result_pending_apply at ask, engine since 1500");
  EXPECT_EQ(story.why().summary,
            "knows the failure of attempt 1 at step ask since 1970-01-01T00:00:01.500Z and has "
            "not continued with it yet");
}

TEST(Explain, a_step_that_is_in_no_queue_waits_for_an_engine) {
  ExplainedStory story(kLine);
  story.start();
  const auto empty = story.queue_without("ask");
  RunSource source = story.source();
  for (const auto& queues : {std::vector<const DispatchProjection*>{},
                             std::vector<const DispatchProjection*>{empty.get()}}) {
    source.queues = queues;
    EXPECT_THAT(lines_of(explained(source)),
                ElementsAre("planned_dispatch_pending_schedule at ask, engine",
                            "has planned step ask, but queue default does not have it yet",
                            "> schedule_pending_dispatch: an engine process schedules it" +
                                std::string(kEngine) + " $ holdfast work"));
  }
}

TEST(Explain, a_step_of_the_engine_that_it_did_not_carry_out_waits_for_it) {
  ExplainedStory story(R"([{"name":"look","pause":{}}])");
  story.start();
  const auto planned = story.beginning(story.run_entries() - 1);
  planned->attach(story.test.definition);
  ASSERT_TRUE(planned->boundaries().empty());
  RunSource source = story.source();
  source.run = planned.get();
  EXPECT_THAT(lines_of(explained(source)),
              ElementsAre("planned_dispatch_pending_schedule at look, engine",
                          "has planned step look, but the engine has not executed it yet",
                          "> schedule_pending_dispatch: an engine process executes it" +
                              std::string(kEngine) + " $ holdfast work"));
}

TEST(Explain, an_attempt_waits_for_a_program_that_has_its_handler) {
  ExplainedStory story(
      R"([{"name":"charge","handler":"pay","timeout":{"schedule_to_start":"9s"}}])");
  story.start();
  story.wait(100);
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_visible at charge, worker since 1000 until 10000",
                          "waits for a worker of queue default to claim attempt 1 at step charge "
                          "(handler pay) since 1970-01-01T00:00:01.000Z",
                          "> wait_for_worker_claim: a worker of queue default claims it: start a "
                          "program that handles pay"));
}

TEST(Explain, what_every_worker_can_do_waits_for_any) {
  ExplainedStory story(R"([{"name":"copy","exec":{"command":["true"]}}])");
  story.start();
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_visible at copy, worker since 1000",
                          "waits for a worker of queue default to claim attempt 1 at step copy "
                          "(handler exec) since 1970-01-01T00:00:01.000Z",
                          "> wait_for_worker_claim: a worker of queue default claims it; start "
                          "one $ holdfast work"));
}

TEST(Explain, a_worker_must_look_in_the_right_queue) {
  ExplainedStory story(
      R"([{"name":"ask","queue":"slow","http":{"method":"GET","url":"https://a.example/b",)"
      R"("allowed_hosts":["a.example"]}}])");
  story.test.start();  // nothing is in the queue of the story
  DispatchProjection slow{SharedText("slow")};
  slow.evolve(story.test.now, DispatchFact(intent_of(story.test.plan_of("ask"), "order")));
  RunSource source = story.source();
  source.queues.push_back(&slow);
  const Lines lines = lines_of(explained(source));
  EXPECT_EQ(lines.at(1),
            "waits for a worker of queue slow to claim attempt 1 at step ask (handler http) since "
            "1970-01-01T00:00:01.000Z");
  EXPECT_EQ(lines.at(2),
            "> wait_for_worker_claim: a worker of queue slow claims it; start one $ holdfast "
            "work --queue slow");
}

TEST(Explain, a_claim_is_held_until_its_lease_ends_and_then_waits_for_another_worker) {
  ExplainedStory story(R"([{"name":"charge"}])");
  story.start();
  story.wait(100);
  story.claim("charge", "worker-7", 5000);
  story.wait(4999);
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_claimed at charge, claim since 1100 until 6100",
                          "is executing attempt 1 at step charge on worker-7 since "
                          "1970-01-01T00:00:01.100Z, lease until 1970-01-01T00:00:06.100Z",
                          "> wait_for_attempt_completion: the worker reports, extends its "
                          "lease or loses it at 1970-01-01T00:00:06.100Z @ 6100"));
  story.wait(1);
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("expired_claim at charge, lease since 6100",
                          "waits for a worker to take over attempt 1 at step charge from "
                          "worker-7, whose lease expired at 1970-01-01T00:00:06.100Z",
                          "> recover_expired_claim: a worker of queue default claims it: start a "
                          "program that handles charge"));
}

TEST(Explain, nothing_that_proves_a_claim_is_shown) {
  ExplainedStory story(R"([{"name":"charge"}])");
  story.start();
  story.claim("charge");
  const std::string text(to_json(story.why()).view());
  EXPECT_THAT(text, HasSubstr("worker-7"));
  EXPECT_THAT(text, Not(HasSubstr("claim-1")));
  EXPECT_THAT(text, Not(HasSubstr(to_hex(sha256("claim-1")))));
}

constexpr std::string_view kRetried =
    R"([{"name":"charge","retry":{"max_attempts":3,"delay":"2s"}}])";
constexpr std::string_view kDeclined = R"({"code":"declined","message":"card declined"})";

TEST(Explain, a_retry_says_when_it_begins_and_why_it_is_one) {
  ExplainedStory story(kRetried);
  story.start();
  story.fail("charge", R"({"message":"no answer"})");
  story.wait(2000);
  story.fail("charge", kDeclined);
  ASSERT_EQ(story.test.now, TimeMs{5000});
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_scheduled_for_later at charge, retry since 5000 until 7000",
                          "begins attempt 3 at step charge at 1970-01-01T00:00:07.000Z, after "
                          "attempt 2 failed: card declined [declined]",
                          "> wait_until_attempt_visible: a worker may claim it at "
                          "1970-01-01T00:00:07.000Z @ 7000"));
  story.wait(2000);
  EXPECT_EQ(lines_of(story.why()).at(0), "attempt_visible at charge, worker since 7000");
  EXPECT_EQ(story.why().summary,
            "waits for a worker of queue default to claim attempt 3 at step charge (handler "
            "charge) since 1970-01-01T00:00:07.000Z, after attempt 2 failed: card declined "
            "[declined]");
}

TEST(Explain, a_first_attempt_may_begin_later_too) {
  ExplainedStory story(kLine);
  story.start();
  story.complete("ask", "{}", R"({"schedule_in_ms":5000})");
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_scheduled_for_later at act, timer since 2000 until 7000",
                          "begins attempt 1 at step act at 1970-01-01T00:00:07.000Z",
                          "> wait_until_attempt_visible: a worker may claim it at "
                          "1970-01-01T00:00:07.000Z @ 7000"));
}

TEST(Explain, a_step_that_put_itself_off_says_why) {
  ExplainedStory story(kLine);
  story.start();
  story.complete("ask", "{}", R"({"defer":{"reason":"too\nearly","schedule_in_ms":5000}})");
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("deferred_continuation at ask, deferral since 2000 until 7000",
                          "has deferred step ask until 1970-01-01T00:00:07.000Z (too early)",
                          "> wait_until_attempt_visible: a worker may claim it at "
                          "1970-01-01T00:00:07.000Z @ 7000"));
  story.wait(5000);
  EXPECT_EQ(story.why().reason, Reason::attempt_visible);
}

TEST(Explain, a_wait_sleeps_until_its_time_and_then_waits_for_an_engine) {
  ExplainedStory story(R"([{"name":"rest","wait":"5s"}])");
  story.start();
  story.wait(4999);
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_scheduled_for_later at rest, timer until 6000",
                          "sleeps at step rest until 1970-01-01T00:00:06.000Z",
                          "> wait_until_attempt_visible: an engine process continues at "
                          "1970-01-01T00:00:06.000Z @ 6000"));
  story.wait(1);
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_visible at rest, timer since 6000 until 6000",
                          "slept at step rest until 1970-01-01T00:00:06.000Z, and no engine "
                          "process has continued yet",
                          "> wait_for_worker_claim: an engine process continues" +
                              std::string(kEngine) + " $ holdfast work"));
}

TEST(Explain, a_step_of_the_engine_that_begins_later_sleeps_until_then) {
  ExplainedStory story(R"([{"name":"ask"},{"name":"look","pause":{},"after":["ask"]}])");
  story.start();
  story.complete("ask", "{}", R"({"schedule_in_ms":5000})");
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_scheduled_for_later at look, timer until 7000",
                          "sleeps at step look until 1970-01-01T00:00:07.000Z",
                          "> wait_until_attempt_visible: an engine process continues at "
                          "1970-01-01T00:00:07.000Z @ 7000"));
  story.wait(5000);
  EXPECT_EQ(lines_of(story.why()).at(0), "attempt_visible at look, timer since 7000 until 7000");
}

TEST(Explain, as_json_it_has_the_tree_and_what_it_rests_on) {
  ExplainedStory story(kRetried);
  story.start();
  story.fail("charge", kDeclined);
  const std::string again = R"({"action":"wait_until_attempt_visible","summary":"a worker may )"
                            R"(claim it at 1970-01-01T00:00:04.000Z","at":4000})";
  const std::string summary =
      R"("summary":"begins attempt 2 at step charge at 1970-01-01T00:00:04.000Z, after attempt 1 )"
      R"(failed: card declined [declined]",)";
  EXPECT_EQ(std::string(to_json(story.why()).view()),
            R"({"run_id":")" + kRun +
                R"(","workflow":"order","version":"1","queue":"default","status":"running",)" +
                R"("terminal":false,"reason":"attempt_scheduled_for_later","step":"charge",)" +
                summary + R"("next_actions":[)" + again + R"(],"causes":[{"waits_for":"retry",)" +
                R"("reason":"attempt_scheduled_for_later","step":"charge",)" + summary +
                R"("since":2000,"until":4000,"next_actions":[)" + again + R"(]}],)" +
                R"("evidence":{"revisions":{"run":4,"log_position":7},"planned_runnables":2,)" +
                R"("applied_runnables":0,"open_steps":1,)" +
                R"("attempts":{"failed":1,"retry_scheduled":1},"timers":[],)" +
                R"("commands":{"start_run":1},"deadlines":[],"anomalies":0},)" +
                R"("as_of":{"position":7,"time":2000}})");
}

}  // namespace
}  // namespace holdfast::explanation_test

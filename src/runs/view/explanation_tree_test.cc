// Runs with several causes, and which of them counts; runs that are left behind; runs that ended.
#include <gmock/gmock.h>

#include "runs/dispatch/dispatch_decide.h"
#include "runs/view/explanation.h"
#include "tests/support/explain_story.h"

namespace holdfast::explanation_tree_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string list_of(std::size_t items) {
  std::string list;
  for (std::size_t i = 0; i < items; ++i) {
    list += (i == 0 ? "" : ",") + std::to_string(i);
  }
  return "[" + list + "]";
}
std::string for_each_of(std::size_t items) {
  return R"([{"name":"mail","for_each":)" + list_of(items) + "}]";
}
std::string item(std::size_t number) { return "mail[" + std::to_string(number) + "]"; }

TEST(ExplainItems, the_step_says_how_many_are_done_and_what_the_rest_waits_for) {
  ExplainedStory story(for_each_of(3));
  story.start();
  story.complete("mail[1]");
  story.claim("mail[0]");
  const Explanation why = story.why();
  ASSERT_EQ(why.causes.size(), 1U);
  const std::string third =
      "waits for a worker of queue default to claim attempt 1 at step mail[2] (handler mail) since "
      "1970-01-01T00:00:01.000Z";
  const std::string start =
      "> wait_for_worker_claim: a worker of queue default claims it: start a "
      "program that handles mail";
  EXPECT_THAT(lines_of(why), ElementsAre("attempt_visible at mail, items",
                                         "has 1 of 3 items of step mail done and " + third, start));
  ASSERT_EQ(why.causes.at(0).causes.size(), 2U);
  EXPECT_EQ(lines_of(why.causes.at(0).causes.at(0)).at(0),
            "attempt_claimed at mail[0], claim since 2000 until 32000");
  EXPECT_THAT(lines_of(why.causes.at(0).causes.at(1)),
              ElementsAre("attempt_visible at mail[2], worker since 1000", third, start));
  EXPECT_EQ(why.causes.at(0).omitted, 0U);
}

TEST(ExplainAdded, a_step_that_was_added_says_who_added_it) {
  ExplainedStory story(R"([{"name":"plan"}])");
  story.start();
  story.complete("plan", "{}",
                 R"({"graph":{"mutation_id":"m","additions":[)"
                 R"({"kind":"node","id":"one","handler":"h"}]}})");
  EXPECT_THAT(story.why().summary, HasSubstr("; step one was added by step plan (mutation m)"));
}

TEST(ExplainItems, items_that_are_not_planned_wait_for_an_engine) {
  ExplainedStory story(for_each_of(3));
  story.start();
  const auto planned = story.beginning(2);
  planned->evolve(story.test.now, RunnablesPlanned{run_no(1), {story.test.plan_of("mail")}});
  planned->attach(story.test.definition);
  RunSource source = story.source();
  source.run = planned.get();
  EXPECT_THAT(lines_of(explained(source)),
              ElementsAre("planned_dispatch_pending_schedule at mail, items",
                          "has 0 of 3 items of step mail done",
                          "> schedule_pending_dispatch: an engine process plans the next items: "
                          "any program that has the store open, or this $ holdfast work"));
}

TEST(ExplainItems, only_the_first_twenty_are_listed_and_the_rest_is_counted) {
  for (const auto& [items, omitted] :
       {std::pair<std::size_t, std::size_t>{20, 0}, {21, 1}, {45, 25}}) {
    ExplainedStory story(for_each_of(items));
    story.start();
    const Explanation why = story.why();
    ASSERT_EQ(why.causes.at(0).causes.size(), 20U);
    EXPECT_EQ(why.causes.at(0).causes.back().omitted, omitted);
    EXPECT_EQ(why.causes.at(0).causes.front().omitted, 0U);
    const bool said = to_json(why).view().find("\"omitted\":" + std::to_string(omitted)) !=
                      std::string_view::npos;
    EXPECT_EQ(said, omitted > 0);
  }
}

TEST(ExplainItems, what_is_most_important_counts_and_is_listed_wherever_it_stands) {
  ExplainedStory story(for_each_of(45));
  story.start();
  for (std::size_t i = 0; i < 45; ++i) {
    story.claim(item(i), "worker-7", i == 30 ? 10 : 30'000);
  }
  story.wait(10);
  const Explanation why = story.why();
  EXPECT_EQ(why.reason, Reason::expired_claim);
  EXPECT_THAT(why.summary, HasSubstr("attempt 1 at step mail[30] from worker-7"));
  EXPECT_EQ(why.causes.at(0).causes.at(18).step, item(18));
  EXPECT_EQ(why.causes.at(0).causes.at(19).step, item(30));
  EXPECT_EQ(why.causes.at(0).causes.at(19).omitted, 25U);
}

TEST(ExplainItems, a_for_each_among_many_steps_keeps_its_items_to_itself) {
  std::string steps;
  for (int i = 0; i < 24; ++i) {
    steps += R"({"name":"s)" + std::to_string(i) + R"("},)";
  }
  ExplainedStory story("[" + steps + R"({"name":"mail","for_each":[1,2]}])");
  story.start();
  story.claim("mail[1]", "worker-7", 10);
  story.wait(10);
  const Explanation why = story.why();
  EXPECT_EQ(why.causes.size(), 20U);
  EXPECT_EQ(why.causes.back().omitted, 5U);
  EXPECT_EQ(why.step, "mail");
  EXPECT_EQ(why.reason, Reason::expired_claim);
  EXPECT_EQ(why.causes.back().causes.size(), 2U);
}

TEST(ExplainBack, a_compensating_run_is_explained) {
  ExplainedStory story(R"([{"name":"pay","compensate":"refund"},{"name":"ship","after":["pay"]}])");
  story.start();
  story.complete("pay");
  story.fail("ship");
  EXPECT_EQ(story.why().status, "compensating");
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("attempt_visible at compensate:pay, worker since 3000",
                          "is compensating: it waits for a worker of queue default to "
                          "claim attempt 1 at step compensate:pay (handler refund) since "
                          "1970-01-01T00:00:03.000Z",
                          "> wait_for_worker_claim: a worker of queue default claims it: start a "
                          "program that handles refund"));
  story.fail("compensate:pay");
  EXPECT_EQ(story.why().summary,
            "failed at 1970-01-01T00:00:04.000Z after 3 s in step ship: declined")
      << "not in what could not be taken back";
}

TEST(ExplainBack, a_failure_that_comes_later_is_not_what_ended_the_run) {
  ExplainedStory story(R"([{"name":"pay","compensate":"refund"},{"name":"x","after":["pay"]},)"
                       R"({"name":"y","compensate":"undo","after":["pay"]}])");
  story.start();
  story.complete("pay");
  story.claim("y");
  story.fail("x");
  story.wait(100);
  story.report_failure("y", R"({"code":"late"})");
  story.note(story.test.fail("y", R"({"code":"late"})"));
  story.complete("compensate:pay");
  ASSERT_TRUE(story.why().terminal);
  EXPECT_EQ(story.why().step, "x");
}

TEST(ExplainDeadline, a_step_says_how_urgent_it_is) {
  ExplainedStory story(
      R"([{"name":"charge","deadline":{"within":"10s","due_soon":"4s","escalate_after":"5s",)"
      R"("escalation":"operator_action","target":"ops"}}])");
  story.start();
  const auto last = [&] { return lines_of(story.why()).back(); };
  const std::string on_time = last();
  EXPECT_THAT(on_time, HasSubstr("wait_for_worker_claim"));
  story.wait(5999);
  EXPECT_EQ(last(), on_time);
  story.wait(1);
  EXPECT_EQ(last(),
            "> inspect_deadline_policy: step charge is due at 1970-01-01T00:00:11.000Z $ "
            "holdfast show " +
                kRun);
  story.wait(4000);
  EXPECT_EQ(last(),
            "> apply_host_escalation_policy: step charge was due at "
            "1970-01-01T00:00:11.000Z and is overdue: operator_action $ holdfast show " +
                kRun);
  story.wait(5000);
  EXPECT_EQ(last(),
            "> apply_host_escalation_policy: step charge was due at "
            "1970-01-01T00:00:11.000Z and is escalated: operator_action $ holdfast show " +
                kRun);
  EXPECT_EQ(story.why().reason, Reason::attempt_visible) << "it is not the reason";
  EXPECT_THAT(std::string(story.why().evidence.view()),
              HasSubstr(R"("deadlines":[{"step":"charge","status":"escalated","due_at":11000}])"));
}

// The first entries of the run, explained.
Lines lines_after(const ExplainedStory& story, std::size_t entries, bool with_definition = true) {
  const auto run = story.beginning(entries);
  if (with_definition) {
    run->attach(story.test.definition);
  }
  RunSource source = story.source();
  source.run = run.get();
  return lines_of(explained(source));
}

TEST(ExplainForeign, a_run_whose_definition_is_not_stored_says_which_is_missing) {
  ExplainedStory story(R"([{"name":"charge"}])");
  story.start();
  const std::string fingerprint = story.test.definition->fingerprint().str();
  EXPECT_THAT(lines_after(story, 3, false),
              ElementsAre("planned_dispatch_pending_schedule, definition",
                          "follows a definition that is not stored here (workflow order, " +
                              fingerprint + ")",
                          "> restore_exact_workflow_definition: register that definition again: a "
                          "program or file that has it, with the same fingerprint"));
  RunProjection foreign(run_no(1));
  RunStarted started;
  started.run_id = run_no(1);
  started.workflow = "order";
  foreign.evolve(TimeMs{1000}, started);
  EXPECT_EQ(explained({&foreign, {}, Position{1}, TimeMs{1000}}).summary,
            "follows a definition that is not stored here (workflow order, no fingerprint)");
}

TEST(ExplainForeign, a_run_that_was_left_behind_says_where) {
  ExplainedStory story(R"([{"name":"charge"}])");
  story.start();
  story.complete("charge");
  ASSERT_EQ(story.run_entries(), 5U) << "received, started, planned, applied, terminal";
  const std::string show = "> inspect_dispatch_state: inspect its entries $ holdfast show " + kRun;
  const std::string cancel = "> cancel_run: or cancel the run $ holdfast cancel " + kRun;
  EXPECT_THAT(
      lines_after(story, 1, false),
      ElementsAre("waiting_for_dispatch, writer", "has entries, but was never started", show));
  EXPECT_THAT(lines_after(story, 2),
              ElementsAre("run_started, writer since 1000",
                          "was started at 1970-01-01T00:00:01.000Z but no step was planned; "
                          "the process that started it did not continue",
                          show, cancel));
  EXPECT_THAT(
      lines_after(story, 4),
      ElementsAre("idle, writer",
                  "has nothing left to do but has not ended; the process that "
                  "planned its steps did not continue",
                  "> wait_for_new_runnables: the process that plans its steps continues", cancel));
}

TEST(ExplainEnd, a_completed_run_says_when_and_how_long_it_took) {
  ExplainedStory story(R"([{"name":"charge"}])");
  story.start();
  story.wait(1500);
  story.complete("charge");
  EXPECT_TRUE(story.why().terminal);
  EXPECT_THAT(
      lines_of(story.why()),
      ElementsAre(
          "terminal, completion since 3500",
          "was completed at 1970-01-01T00:00:03.500Z after 2.5 s",
          "> inspect_terminal_run: the run has ended; show its result $ holdfast show " + kRun));
}

constexpr std::string_view kDeclined = R"({"code":"declined","message":"card declined"})";

TEST(ExplainEnd, a_failed_run_names_the_step_also_when_the_error_does_not) {
  ExplainedStory story(kDiamond);
  story.start();
  story.complete("charge");
  story.fail("bill", kDeclined);
  EXPECT_THAT(
      lines_of(story.why()),
      ElementsAre("terminal at bill, failure since 3000",
                  "failed at 1970-01-01T00:00:03.000Z after 2 s in step bill: card "
                  "declined [declined]",
                  "> inspect_terminal_run: the run has ended; show what happened $ holdfast "
                  "show " +
                      kRun,
                  "> replay_run: after fixing the cause, replay the run from that step $ "
                  "holdfast replay " +
                      kRun + " --from-step bill",
                  "> replay_run: replay the whole run as a new run $ holdfast "
                  "replay " +
                      kRun,
                  "> redrive_dead_letter: or repeat it once, as a dead letter $ holdfast "
                  "dead-letters redrive " +
                      kRun));
  ExplainedStory named(kLine);
  named.start();
  named.fail("ask", R"({"code":"lost","step":"elsewhere"})");
  EXPECT_EQ(named.why().step, "elsewhere");
  ExplainedStory items(for_each_of(2));
  items.start();
  items.fail("mail[1]");
  EXPECT_EQ(items.why().step, "mail[1]");
}

TEST(ExplainEnd, a_failure_that_was_made_good_is_not_what_ended_the_run) {
  ExplainedStory late(flow(R"([{"name":"charge","retry":{"max_attempts":2}},
                               {"name":"rest","wait":"1h"}])",
                           R"([{"from":"charge","to":"rest"}])", R"("timeout":"1m")"));
  late.start();
  late.fail("charge");
  late.complete("charge");
  EXPECT_EQ(late.why().causes.size(), 1U) << "the timer of the run is none";
  late.note(late.test.fire(runnable_key(run_no(1), "__run__", 1).str()));
  EXPECT_EQ(late.why().step, "");
  EXPECT_EQ(late.why().summary,
            "failed at 1970-01-01T00:01:01.000Z after 1 min: the run did not end within 60000 ms "
            "[run_timeout]");
  ExplainedStory routed(flow(R"([{"name":"charge"},{"name":"mend"}])",
                             R"([{"from":"charge","on":"error","to":"mend"}])"));
  routed.start();
  routed.fail("charge");
  routed.fail("mend", R"({"code":"broken"})");
  EXPECT_EQ(routed.why().step, "mend");
}

TEST(ExplainEnd, a_cancelled_run_says_by_whom_and_why) {
  ExplainedStory story(kLine);
  story.start();
  CommandSource ann;
  ann.actor = "ann";
  ann.comment = "not\nwanted";
  story.note(story.test.put([&](RunProjection& run) {
    return decide_cancel(run, ann, OnCancel::as_defined, story.test.around, story.test.now);
  }));
  EXPECT_THAT(
      lines_of(story.why()),
      ElementsAre("terminal, cancellation since 1000",
                  "was cancelled at 1970-01-01T00:00:01.000Z by ann: not wanted",
                  "> inspect_terminal_run: the run has ended; show how far it got $ holdfast "
                  "show " +
                      kRun,
                  "> replay_run: replay it as a new run $ holdfast replay " + kRun));
  ExplainedStory anonymous(kLine);
  anonymous.start();
  anonymous.note(anonymous.test.cancel());
  EXPECT_EQ(anonymous.why().summary, "was cancelled at 1970-01-01T00:00:01.000Z");
}

TEST(ExplainEnd, a_run_that_continued_as_another_names_it) {
  ExplainedStory story(R"([{"name":"charge"}])");
  story.start();
  story.complete("charge", "{}", R"({"continue_as_new":{"key":"page-2","input":{"page":2}}})");
  const std::string successor = to_string(successor_run_id(run_no(1), "page-2"));
  EXPECT_THAT(lines_of(story.why()),
              ElementsAre("terminal, successor since 2000",
                          "continued as run " + successor + " at 1970-01-01T00:00:02.000Z",
                          "> inspect_continuation_successor: inspect the run it continued as $ "
                          "holdfast explain " +
                              successor));
  EXPECT_EQ(story.why().causes.at(0).run_id, successor);
}

// A run whose only step is a child, and a store in which every other run is the same one.
struct Mirror {
  Mirror() {
    story.test.around.workflows.emplace("parcel", definition_of(R"([{"name":"pack"}])", "parcel"));
    story.start();
  }
  Explanation why(const ExplainedStory& every_run) const {
    return story.why([&](const RunId&) -> Result<std::optional<RunSource>> {
      return std::optional(every_run.source());
    });
  }
  ExplainedStory story{R"([{"name":"send","child":"parcel"}])"};
};

TEST(ExplainChild, a_chain_that_does_not_end_is_cut) {
  const Mirror mirror;
  const Explanation why = mirror.why(mirror.story);
  EXPECT_EQ(why.reason, Reason::waiting_for_child);
  std::size_t links = 0;
  for (std::size_t at = why.summary.find("waits for child run"); at != std::string::npos;
       at = why.summary.find("waits for child run", at + 1)) {
    ++links;
  }
  EXPECT_EQ(links, 33U);
}

TEST(ExplainChild, successors_that_go_round_in_a_circle_are_left) {
  ExplainedStory circle(R"([{"name":"charge"}])");
  circle.start();
  circle.complete("charge", "{}", R"({"continue_as_new":{"key":"next","input":{}}})");
  const Explanation why = Mirror().why(circle);
  EXPECT_EQ(why.reason, Reason::completed_result_pending_apply);
  EXPECT_THAT(why.summary, HasSubstr("which has ended (continued) without notifying step send"));
}

TEST(ExplainChild, an_error_of_the_search_for_runs_is_returned) {
  const Mirror mirror;
  const auto why = explain_run(mirror.story.source(), [](const RunId&) {
    return Result<std::optional<RunSource>>(Error{ErrorCode::io_error, "no disk"});
  });
  EXPECT_EQ(code_of(why), ErrorCode::io_error);
}

// One step of each kind of waiting; the story brings each step to where its name says.
struct Parallel {
  explicit Parallel(const std::vector<Reason>& reasons) : story(definition_of(steps_of(reasons))) {
    story.test.around.workflows.emplace("parcel", child.test.definition);
    child.start();
    story.start();
    for (const Reason reason : reasons) {
      bring(reason);
    }
    story.wait(10);
  }

  static std::string name(Reason reason) { return "s_" + std::string(to_text(reason)); }
  // The least important stands first: it is not the order that decides.
  static std::string steps_of(const std::vector<Reason>& reasons) {
    std::string steps;
    for (auto reason = reasons.rbegin(); reason != reasons.rend(); ++reason) {
      steps += (steps.empty() ? "" : ",") + (R"({"name":")" + name(*reason) + R"(")");
      if (*reason == Reason::manual_intervention_required) {
        steps += R"(,"approval":{})";
      } else if (*reason == Reason::attempt_scheduled_for_later) {
        steps += R"(,"retry":{"max_attempts":2,"delay":"1h"})";
      } else if (*reason == Reason::waiting_for_child) {
        steps += R"(,"child":"parcel")";
      } else if (*reason == Reason::circuit_open) {
        steps += R"(,"retry":{"max_attempts":2,"delay":"0s"},)"
                 R"("circuit_breaker":{"failures":1,"probe_after":"1h"})";
      }
      steps += "}";
    }
    return "[" + steps + "]";
  }
  void bring(Reason reason) {
    const std::string step = name(reason);
    if (reason == Reason::completed_result_pending_apply) {
      story.claim(step);
      story.report_result(step);
    } else if (reason == Reason::planned_dispatch_pending_schedule) {
      unscheduled = step;
    } else if (reason == Reason::expired_claim) {
      story.claim(step, "worker-1", 10);
    } else if (reason == Reason::deferred_continuation) {
      story.complete(step, "{}", R"({"defer":{"schedule_in_ms":3600000}})");
    } else if (reason == Reason::attempt_claimed) {
      story.claim(step, "worker-1", 3'600'000);
    } else if (reason == Reason::attempt_scheduled_for_later) {
      story.fail(step);
    } else if (reason == Reason::circuit_open) {
      const std::string failed = story.test.key(step);
      story.fail(step);
      const auto opened = decide_circuit_opened(story.queue, failed, story.test.now);
      ASSERT_TRUE(opened.has_value());
      story.emit(*opened);
    } else if (reason == Reason::terminal) {
      story.note(story.test.cancel(OnCancel::stop));
    }
  }
  Explanation why() {
    RunSource source = story.source();
    if (!unscheduled.empty()) {
      queue = story.queue_without(unscheduled);
      source.queues = {queue.get()};
    }
    return explained(source, [&](const RunId&) -> Result<std::optional<RunSource>> {
      return std::optional(child.source());
    });
  }

  ExplainedStory child{definition_of(R"([{"name":"pack"}])", "parcel")};
  ExplainedStory story;
  std::string unscheduled;
  std::unique_ptr<DispatchProjection> queue;
};

TEST(ExplainOrder, of_two_neighbours_the_first_is_the_reason) {
  for (int first = 0; first < static_cast<int>(Reason::waiting_for_child); ++first) {
    const auto reason = static_cast<Reason>(first);
    const auto next = static_cast<Reason>(first + 1);
    Parallel run({reason, next});
    const Explanation why = run.why();
    EXPECT_EQ(to_text(why.reason), to_text(reason));
    if (reason != Reason::terminal) {
      EXPECT_EQ(why.step, Parallel::name(reason));
      ASSERT_EQ(why.causes.size(), 2U) << to_text(reason);
      EXPECT_THAT((Lines{why.causes[0].step, why.causes[1].step}),
                  UnorderedElementsAre(Parallel::name(reason), Parallel::name(next)));
    }
  }
}

TEST(ExplainOrder, of_equals_the_oldest_plan_is_the_reason) {
  ExplainedStory story(R"([{"name":"b"},{"name":"a"}])");
  story.start();
  EXPECT_EQ(story.why().step, "b");
}

}  // namespace
}  // namespace holdfast::explanation_tree_test

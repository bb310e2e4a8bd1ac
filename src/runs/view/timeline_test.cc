#include "runs/view/timeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/run_story.h"

namespace holdfast::timeline_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Lines = std::vector<std::string>;

Timeline timeline_of(const RunStory& story) {
  TimelineBuilder builder(story.test.run->run_id(), [&](const SharedText& fingerprint) {
    EXPECT_EQ(fingerprint, story.test.run->definition()->fingerprint());
    return story.test.run->definition();
  });
  for (const RunStory::Line& line : story.log) {
    builder.add(line.view(), line.position);
  }
  return builder.timeline(story.test.now);
}

// What people read, line by line; not how the run was started.
Lines summaries(const RunStory& story) {
  Lines lines;
  for (const TimelineEvent& event : timeline_of(story).events) {
    lines.push_back(event.summary);
  }
  EXPECT_GE(lines.size(), 2U);
  EXPECT_EQ(lines.at(0), "command start_run");
  EXPECT_EQ(lines.at(1), "run of workflow order started");
  lines.erase(lines.begin(), lines.begin() + 2);
  return lines;
}

std::string time(const std::optional<TimeMs>& at) {
  return at.has_value() ? std::to_string(at->value) : std::string();
}

// charge #1 scheduled/visible started..ended status by owner
Lines bars(const RunStory& story) {
  Lines lines;
  for (const TimelineBar& bar : timeline_of(story).bars) {
    lines.push_back(fmt::format("{} #{} {}/{} {}..{} {}{}", bar.step, bar.attempt,
                                bar.scheduled_at.value, bar.visible_at.value, time(bar.started_at),
                                time(bar.ended_at), bar.status,
                                bar.owner.empty() ? "" : " by " + bar.owner));
  }
  return lines;
}

constexpr std::string_view kRetried =
    R"([{"name":"charge","retry":{"max_attempts":3,"delay":"2s"}}])";
constexpr std::string_view kDeclined = R"({"code":"declined","message":"card declined"})";

std::shared_ptr<const Definition> awaiting() {
  return flow(R"([{"name":"paid","await_event":{"event":"payment","correlation":"c-77",
                   "timeout":"5s","on_timeout":"remind"}},{"name":"remind"},{"name":"ship"}])",
              R"([{"from":"paid","to":"ship"}])");
}

TEST(Timeline, every_attempt_of_a_step_is_a_bar) {
  RunStory story(kRetried);
  story.start();
  EXPECT_THAT(bars(story), ElementsAre("charge #1 1000/1000 .. waiting"));
  story.fail("charge", kDeclined);
  story.wait(500);
  EXPECT_THAT(bars(story), ElementsAre("charge #1 1000/1000 1000..2000 failed by worker-7",
                                       "charge #2 2000/4000 .. scheduled"));
  story.wait(1500);
  EXPECT_EQ(bars(story).at(1), "charge #2 2000/4000 .. waiting");
  story.wait(1000);
  story.claim("charge", "worker-8");
  EXPECT_EQ(bars(story).at(1), "charge #2 2000/4000 5000.. running by worker-8");
  story.wait(1000);
  story.complete("charge", R"({"paid":true})");
  EXPECT_EQ(bars(story).at(1), "charge #2 2000/4000 5000..6000 completed by worker-8");
  EXPECT_THAT(summaries(story),
              ElementsAre("charge: planned", "charge: attempt 1 scheduled in queue default",
                          "charge: attempt 1 claimed by worker-7",
                          "charge: attempt 1 failed: card declined [declined]; again in 2 s",
                          "charge: attempt 2 planned, to begin in 2 s",
                          "charge: attempt 2 claimed by worker-8", "charge: attempt 2 completed",
                          "charge: done", "run completed"));
}

TEST(Timeline, as_json_it_has_times_in_milliseconds) {
  RunStory story(R"([{"name":"rest","wait":"5s"}])");
  story.start();
  story.note(story.test.fire(story.test.key("rest")));
  const Timeline timeline = timeline_of(story);
  Timeline ends = timeline;
  ends.events = {timeline.events.at(3), timeline.events.back()};
  const std::string run = "00000000-0000-0000-0000-000000000001";
  EXPECT_EQ(std::string(to_json(ends).view()),
            R"({"run_id":")" + run + R"(","workflow":"order","status":"completed",)" +
                R"("started_at":1000,"ended_at":6000,"now":6000,"events":[)" +
                R"({"type":"attempt_scheduled","at":1000,"position":4,"step":"rest",)" +
                R"("runnable_key":")" + run + R"(:rest:1","attempt":1,)" +
                R"("summary":"rest: timer scheduled, due in 5 s","details":{"runnable_key":")" +
                run + R"(:rest:1","attempt_number":1,"queue":"default","step":"rest","input":{},)" +
                R"("visible_at":6000,"workflow":"order","handler":"__timer__"}},)" +
                R"({"type":"run_terminal","at":6000,"position":6,"summary":"run completed",)" +
                R"("details":{"status":"completed"}}],"bars":[{"step":"rest","runnable_key":")" +
                run + R"(:rest:1","attempt":1,"scheduled_at":1000,"visible_at":6000,)" +
                R"("started_at":1000,"ended_at":6000,"status":"completed"}]})");
  EXPECT_EQ(to_json(ends.events.at(1)).view(),
            R"({"type":"run_terminal","at":6000,"position":6,"summary":"run completed",)"
            R"("details":{"status":"completed"}})");
}

TEST(Timeline, a_lost_claim_that_is_taken_again_is_a_bar_of_its_own) {
  RunStory story(kRetried);
  story.start();
  story.claim("charge", "worker-1", 5000);
  story.wait(4000);
  story.extend("charge", 5000);
  story.wait(4999);
  EXPECT_THAT(bars(story), ElementsAre("charge #1 1000/1000 1000.. running by worker-1"));
  story.wait(1);
  EXPECT_THAT(bars(story), ElementsAre("charge #1 1000/1000 1000..10000 expired by worker-1"));
  story.wait(1000);
  story.claim("charge", "worker-2");
  story.wait(500);
  EXPECT_THAT(bars(story), ElementsAre("charge #1 1000/1000 1000..10000 expired by worker-1",
                                       "charge #1 1000/10000 11000.. running by worker-2"));
  story.complete("charge");
  EXPECT_EQ(bars(story).at(1), "charge #1 1000/10000 11000..11500 completed by worker-2");
  EXPECT_EQ(summaries(story).at(3), "charge: attempt 1 held by worker-1 for 5 s more");
}

TEST(Timeline, an_approval_is_paused_until_it_is_decided) {
  const std::string steps = R"([{"name":"manager","approval":{"reason":"order {order}"}},)"
                            R"({"name":"act","after":["manager"]}])";
  RunStory story(steps);
  story.start();
  story.wait(100);
  EXPECT_THAT(bars(story), ElementsAre("manager #1 1000/1000 1000.. paused"));
  EXPECT_EQ(timeline_of(story).status, "paused");
  story.resolve(ManualAction::approved, "looks fine");
  EXPECT_THAT(bars(story), ElementsAre("manager #1 1000/1000 1000..1100 completed",
                                       "act #1 1100/1100 .. waiting"));
  EXPECT_THAT(
      summaries(story),
      ElementsAre("manager: planned", "manager: waits for approval: order 7",
                  "command approve_run by ann: looks fine", "approved by ann: looks fine",
                  "manager: done", "act: planned", "act: attempt 1 scheduled in queue default"));
  EXPECT_EQ(timeline_of(story).events.at(5).step, "manager");
  RunStory other(steps);
  other.start();
  other.wait(100);
  other.resolve(ManualAction::rejected, "too dear");
  EXPECT_THAT(bars(other), ElementsAre("manager #1 1000/1000 1000..1100 failed"));
  EXPECT_EQ(summaries(other).back(), "run failed: step manager was rejected by ann [rejected]");
}

TEST(Timeline, a_wait_for_an_event_may_time_out) {
  RunStory story(awaiting());
  story.start();
  story.wait(1000);
  EXPECT_THAT(bars(story), ElementsAre("paid #1 1000/1000 1000.. paused")) << "timers have none";
  story.note(story.test.fire(story.test.key("paid") + ":timeout"));
  EXPECT_THAT(bars(story),
              ElementsAre("paid #1 1000/1000 1000..6000 failed", "remind #1 6000/6000 .. waiting"));
  EXPECT_THAT(summaries(story),
              ElementsAre("paid: planned", "paid: waits for event payment, at most 5 s",
                          "paid: timer set, due in 5 s", "paid: timer scheduled, due in 5 s",
                          "paid: no event payment came in time", "paid: waits no longer: timed out",
                          "paid: timer fired", "paid: timed out, continues to remind",
                          "remind: planned", "remind: attempt 1 scheduled in queue default"));
}

TEST(Timeline, the_timeout_of_a_wait_for_any_of_several_names_all_events) {
  RunStory story(flow(R"([{"name":"hear","await_event":{"any_of":["paid","refused","lost"],
                           "timeout":"5s"}}])",
                      "[]"));
  story.start();
  story.note(story.test.fire(story.test.key("hear") + ":timeout"));
  EXPECT_THAT(summaries(story),
              AllOf(Contains("hear: waits for event paid or refused or lost, at most 5 s"),
                    Contains("hear: no event paid or refused or lost came in time")));
}

TEST(Timeline, an_event_that_comes_ends_the_wait_and_keeps_its_keys) {
  RunStory story(awaiting());
  story.start();
  story.wait(1000);
  story.note(story.test.send("payment", "key-88", R"({"sum":5,"token":"t-99"})", "c-77"));
  EXPECT_EQ(bars(story).at(0), "paid #1 1000/1000 1000..2000 completed");
  const std::string text(to_json(timeline_of(story)).view());
  EXPECT_THAT(text, HasSubstr("paid: event payment received"));
  for (const char* secret : {"c-77", "key-88", "t-99"}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
}

TEST(Timeline, items_have_bars_of_their_own) {
  RunStory story(R"([{"name":"mail","for_each":[1,2,3]}])");
  story.start();
  story.complete("mail[1]", "1");
  story.claim("mail[0]");
  EXPECT_THAT(bars(story), ElementsAre("mail #1 1000/1000 1000.. running",
                                       "mail[1] #1 1000/1000 1000..2000 completed by worker-7",
                                       "mail[2] #1 1000/1000 .. waiting",
                                       "mail[0] #1 1000/1000 2000.. running by worker-7"));
  story.fail("mail[2]");
  EXPECT_THAT(bars(story), ElementsAre("mail #1 1000/1000 1000..3000 failed",
                                       "mail[1] #1 1000/1000 1000..2000 completed by worker-7",
                                       "mail[0] #1 1000/1000 2000..3000 withdrawn by worker-7",
                                       "mail[2] #1 1000/1000 2000..3000 failed by worker-7"));
  const Lines lines = summaries(story);
  EXPECT_EQ(Lines(lines.end() - 4, lines.end()),
            Lines({"mail[2]: attempt 1 failed: declined", "mail[2]: failed",
                   "mail[0]: withdrawn: another item failed", "run failed: declined"}));
}

TEST(Timeline, a_child_is_waited_for_until_its_end_is_part_of_the_run) {
  RunStory story(R"([{"name":"send","child":"parcel","retry":{"max_attempts":2,"delay":"2s"}},
                     {"name":"rest","wait":"5s","after":["send"]}])");
  story.test.around.workflows.emplace("parcel",
                                      parsed(R"({"workflow":"parcel","steps":[{"name":"one"}]})"));
  story.start();
  story.wait(50);
  EXPECT_THAT(bars(story), ElementsAre("send #1 1000/1000 1000.. running"));
  EXPECT_EQ(summaries(story).at(1),
            "child run 0d968dde-a9aa-5548-b8bb-a7ce64af9719 of workflow parcel started");
  const std::string first = story.test.key("send");
  story.note(story.test.child_ended(
      first, {run_no(9), TerminalStatus::failed, {}, json(R"({"code":"lost"})")}));
  EXPECT_THAT(bars(story), ElementsAre("send #1 1000/1000 1000..1050 withdrawn",
                                       "send #2 1050/3050 .. scheduled"));
  story.note(story.test.fire(story.test.key("send") + ":begin"));
  story.wait(10);
  EXPECT_EQ(bars(story).at(1), "send #2 1050/3050 3050.. running");
  story.note(story.test.child_ended(story.test.key("send"),
                                    {run_no(9), TerminalStatus::completed, json("{}"), {}}));
  EXPECT_EQ(bars(story).at(1), "send #2 1050/3050 3050..3060 completed");
  EXPECT_EQ(bars(story).at(2), "rest #1 3060/8060 3060.. scheduled");
}

TEST(Timeline, what_is_open_when_a_run_is_cancelled_is_abandoned) {
  RunStory story(R"([{"name":"a"},{"name":"b"},{"name":"rest","wait":"5s"},
                     {"name":"look","pause":true}])");
  story.start();
  story.claim("a");
  story.wait(70);
  story.note(story.test.cancel());
  story.wait(90'000);
  EXPECT_THAT(bars(story), ElementsAre("a #1 1000/1000 1000..1070 abandoned by worker-7",
                                       "b #1 1000/1000 ..1070 abandoned",
                                       "rest #1 1000/6000 1000..1070 abandoned",
                                       "look #1 1000/1000 1000..1070 abandoned"));
  const Lines lines = summaries(story);
  EXPECT_EQ(Lines(lines.end() - 2, lines.end()), Lines({"command cancel_run", "run cancelled"}));
  EXPECT_EQ(timeline_of(story).ended_at, TimeMs{1070});
}

TEST(Timeline, a_run_that_continues_says_as_which) {
  RunStory story(R"([{"name":"charge"}])");
  story.start();
  story.complete("charge", "{}", R"({"continue_as_new":{"key":"k","input":{"page":2}}})");
  const Timeline timeline = timeline_of(story);
  EXPECT_EQ(timeline.status, "continued");
  EXPECT_EQ(timeline.events.at(7).type, "run_continued_to");
  EXPECT_EQ(timeline.events.at(7).summary, "run continues as 6dd3bbe6-e8bc-54dd-b93a-fdbfcbd81607");
  EXPECT_EQ(timeline.events.back().summary, "run continued");
}

TEST(Timeline, compensating_shows_what_failed_and_what_is_undone) {
  RunStory story(R"([{"name":"book","compensate":"unbook"},{"name":"pay","after":["book"]}])");
  story.start();
  story.complete("book");
  story.fail("pay");
  story.complete("compensate:book");
  EXPECT_THAT(bars(story),
              ElementsAre("book #1 1000/1000 1000..2000 completed by worker-7",
                          "pay #1 2000/2000 2000..3000 failed by worker-7",
                          "compensate:book #1 3000/3000 3000..4000 completed by worker-7"));
  EXPECT_EQ(summaries(story).at(9), "run compensates, then ends failed: declined");
}

TEST(Timeline, a_step_that_puts_itself_off_comes_back_as_another_bar) {
  RunStory story(flow(R"([{"name":"poll"},{"name":"x"}])",
                      R"([{"from":"poll","on":"error","to":"x"},{"from":"poll","to":"complete"},
                          {"from":"x","to":"fail"}])"));
  story.start();
  story.complete("poll", "{}", R"({"defer":{"reason":"not there","schedule_in_ms":3000}})");
  story.wait(3000);
  story.fail("poll");
  story.complete("x");
  EXPECT_THAT(bars(story), ElementsAre("poll #1 1000/1000 1000..2000 completed by worker-7",
                                       "poll #1 2000/5000 5000..6000 failed by worker-7",
                                       "x #1 6000/6000 6000..7000 completed by worker-7"));
  const Lines lines = summaries(story);
  EXPECT_EQ(lines.at(4), "poll: not done yet");
  EXPECT_EQ(lines.at(5), "poll: deferred: not there; again in 3 s");
  EXPECT_EQ(lines.at(9), "poll: failed, continues to x");
  EXPECT_EQ(lines.at(14), "x: done, so the run fails");
}

std::vector<std::string> log_lines(const RunStory& story) {
  std::vector<std::string> lines;
  for (const TimelineEvent& event : timeline_of(story).events) {
    if (event.type == "log_written") {
      lines.push_back(event.summary);
    }
  }
  return lines;
}

TEST(Timeline, what_a_log_step_says_is_an_event) {
  RunStory story(R"([{"name":"say","log":"hello"},
                     {"name":"warn","after":["say"],
                      "log":{"message":"careful","level":"warning"}}])");
  story.start();
  EXPECT_THAT(log_lines(story), ElementsAre("say: hello", "warn: warning: careful"));
}

TEST(Timeline, an_input_that_resembles_a_log_line_is_none) {
  RunStory story(parsed(R"({"workflow":"order",
      "steps":[{"name":"call","child":"unknown",
                "input":{"level":{"value":"info"},"message":{"value":"hello"}}}],
      "transitions":[{"from":"call","on":"error","to":"complete"}]})"));
  story.start();
  EXPECT_EQ(story.test.plan_of("call").input, json(R"({"level":"info","message":"hello"})"));
  EXPECT_TRUE(log_lines(story).empty());
}

TEST(Timeline, a_reader_that_follows_gets_each_event_once) {
  RunStory story(kRetried);
  story.start();
  TimelineBuilder builder(run_no(1));
  std::size_t seen = 0;
  for (const RunStory::Line& line : story.log) {
    builder.add(line.view(), line.position);
    const std::vector<TimelineEvent> events = builder.take_events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events.front().position, line.position);
    ++seen;
  }
  EXPECT_TRUE(builder.take_events().empty());
  EXPECT_EQ(builder.timeline(story.test.now).events.size(), seen);
}

TEST(Timeline, facts_of_other_runs_are_left_out) {
  RunStory story(kRetried);
  story.start();
  TimelineBuilder other(run_no(2));
  for (const RunStory::Line& line : story.log) {
    other.add(line.view(), line.position);
  }
  // The id of the run inside the input of another one is not about the run.
  AttemptScheduled foreign = intent_of(story.test.plan_of("charge"), "order");
  foreign.input = json(R"({"about":")" + to_string(run_no(2)) + R"("})");
  const auto entry = to_entry(foreign, TimeMs{1});
  ASSERT_TRUE(entry.ok());
  other.add(RunStory::Line{"dispatch:default", entry.value(), Position{9}}.view(), Position{9});
  EXPECT_TRUE(other.take_events().empty());
  EXPECT_TRUE(other.timeline(TimeMs{1}).bars.empty());
}

}  // namespace
}  // namespace holdfast::timeline_test

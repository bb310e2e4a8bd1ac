#include "apps/terminal/show.h"
#include "runs/view/view_words.h"
#include "tests/support/marked.h"
#include "tests/support/run_story.h"

namespace holdfast::show_run_test {
namespace {

// What the explanation says does not matter here.
Explanation why_of(const RunSource& source) {
  Explanation why;
  why.run_id = to_string(source.run->run_id());
  why.workflow = "order";
  why.version = source.run->pinned_definition().version.str();
  why.queue = source.run->started()->queue.empty() ? "default" : source.run->started()->queue.str();
  why.status = to_text(source.run->status());
  why.now = source.now;
  why.summary = "waits for approval manager, open since 1970-01-01T00:00:02.000Z (more than 1000)";
  why.next_actions = {{"approve", "approve it", "holdfast approve " + why.run_id},
                      {"timeout", "the wait times out", "", TimeMs{source.now.value + 12'000}}};
  if (source.run->is_terminal()) {
    why.summary = source.run->status() == RunStatus::completed
                      ? "was completed at 1970-01-01T00:00:02.000Z after 1 s"
                      : "failed in step manager: " + error_text(source.run->terminal()->error);
    why.next_actions = {{"inspect", "look at it", "holdfast show " + why.run_id},
                        {"replay", "replay it as a new run", "holdfast replay " + why.run_id}};
  }
  return why;
}

std::string text_of(const RunSource& source, const Style& style) {
  return show_run(source, why_of(source), style);
}

std::string text_of(const RunStory& story, const Style& style = {}) {
  return text_of({story.test.run.get(), {&story.queue}, Position{1}, story.test.now}, style);
}

std::string text_of(const RunProjection& run, TimeMs now) {
  return text_of({&run, {}, Position{1}, now}, {});
}

constexpr std::string_view kOrder =
    R"([{"name":"reserve"},{"name":"charge","after":["reserve"],"retry":{"max_attempts":3}},
        {"name":"mail","after":["reserve"],"for_each":{"items":[1,2,3],"on_error":"collect"}},
        {"name":"manager","after":["reserve"],"approval":{"reason":"more than 1000 euros"}},
        {"name":"ship","after":["charge","mail","manager"]}])";

std::string under_way(const Style& style) {
  RunStory story(kOrder);
  story.start(R"({"order":17,"api_key":"secret"})");
  story.complete("reserve", R"({"reservation":"r-1","token":"secret"})");
  story.fail("charge", R"({"code":"declined","message":"card\u001b[2J declined"})");
  story.complete("mail[0]", "0");
  story.fail("mail[1]");
  story.wait(180'000);
  return text_of(story, style);
}

TEST(ShowRun, under_way) {
  EXPECT_EQ("\n" + under_way({.command_suffix = " --store x"}), R"(
order version 1  running
run             00000000-0000-0000-0000-000000000001
started         1970-01-01T00:00:01.000Z, 3 min 4 s ago

It waits for approval manager, open since 1970-01-01T00:00:02.000Z (more than 1000).

STEP     STATUS     ATTEMPTS  ITEMS  RESULT OR ERROR
reserve  completed         1         {"reservation":"r-1","token":"[REDACTED]"}
charge   retrying          2         card [2J declined [declined]
mail     running           1    1/3  1 item failed
manager  paused
ship     waiting

Input: {"order":17,"api_key":"[REDACTED]"}

What to do next:
  approve it
      holdfast approve 00000000-0000-0000-0000-000000000001 --store x
  the wait times out (in 12 s)
)");
}

TEST(ShowRun, in_colour) {
  RunStory story(R"([{"name":"reserve"},{"name":"charge","after":["reserve"]}])");
  story.start();
  story.complete("reserve", R"({"reservation":"r-1"})");
  EXPECT_EQ("\n" + marked(text_of(story, {.colour = true})), R"(
{1}order{} version 1  {34}running{}
{2}run{}             00000000-0000-0000-0000-000000000001
{2}started{}         1970-01-01T00:00:01.000Z, 1 s ago

{1}It waits for approval manager, open since 1970-01-01T00:00:02.000Z (more than 1000).{}

{2}STEP{}     {2}STATUS{}     {2}ATTEMPTS{}  {2}RESULT OR ERROR{}
reserve  {32}completed{}         1  {"reservation":"r-1"}
{1}charge{}   {36}pending{}           1

{1}Input{}: {"order":7}

{1}What to do next:{}
  approve it
      {36}holdfast approve 00000000-0000-0000-0000-000000000001{}
  the wait times out (in 12 s)
)");
}

TEST(ShowRun, completed) {
  RunStory story(R"([{"name":"reserve"}])");
  story.start(R"({"order":17})");
  story.complete("reserve", R"({"reservation":"r-1"})");
  story.wait(60'000);
  EXPECT_EQ("\n" + text_of(story), R"(
order version 1  completed
run             00000000-0000-0000-0000-000000000001
started         1970-01-01T00:00:01.000Z, 1 min 1 s ago
ended           1970-01-01T00:00:02.000Z, took 1 s

It was completed at 1970-01-01T00:00:02.000Z after 1 s.

STEP     STATUS     ATTEMPTS  RESULT OR ERROR
reserve  completed         1  {"reservation":"r-1"}

Input: {"order":17}
Result: {"order":17,"reservation":"r-1"}

What to do next:
  replay it as a new run
      holdfast replay 00000000-0000-0000-0000-000000000001
)");
}

TEST(ShowRun, rejected_with_an_actor_and_a_comment) {
  RunStory story(R"([{"name":"manager","approval":true},{"name":"ship","after":["manager"]}])");
  story.start();
  story.wait(40'000);
  story.resolve(ManualAction::rejected, "too\nexpensive");
  EXPECT_EQ("\n" + text_of(story), R"(
order version 1  failed
run             00000000-0000-0000-0000-000000000001
started         1970-01-01T00:00:01.000Z, 40 s ago
ended           1970-01-01T00:00:41.000Z, took 40 s

It failed in step manager: step manager was rejected by ann [rejected].

STEP     STATUS     RESULT OR ERROR
manager  failed     step manager was rejected by ann [rejected]
ship     abandoned

Input: {"order":7}

Commands
  +0 ms  start_run
  +40 s  reject_run  by ann: too expensive

What to do next:
  replay it as a new run
      holdfast replay 00000000-0000-0000-0000-000000000001
)");
}

TEST(ShowRun, children_and_facts_that_broke_a_rule) {
  RunStory story(R"([{"name":"send","child":"parcel"}])");
  story.test.around.workflows.emplace("parcel",
                                      parsed(R"({"workflow":"parcel","steps":[{"name":"one"}]})"));
  story.start();
  RunProjection run(story.test.run->run_id());
  for (const RunStory::Line& line : story.log) {
    run.fold(line.view());
  }
  RunStarted again;
  again.run_id = run.run_id();
  again.workflow = "other";
  run.evolve(TimeMs{story.test.now.value + 1200}, again);
  EXPECT_EQ("\n" + text_of(run, story.test.now), R"(
order version 1  running
run             00000000-0000-0000-0000-000000000001
started         1970-01-01T00:00:01.000Z, now

It waits for approval manager, open since 1970-01-01T00:00:02.000Z (more than 1000).

STEP  STATUS   ATTEMPTS
send  running         1

Input: {"order":7}

Children
  0d968dde-a9aa-5548-b8bb-a7ce64af9719  parcel  of step send

Facts that violated a rule and were ignored
  +1.2 s  conflicting_run_start (run_started)

What to do next:
  approve it
      holdfast approve 00000000-0000-0000-0000-000000000001
  the wait times out (in 12 s)
)");
}

TEST(ShowRun, where_it_comes_from_and_what_it_is_known_by) {
  RunProjection run(run_no(1));
  RunStarted started;
  started.run_id = run_no(1);
  started.workflow = "order";
  started.queue = "slow";
  started.context = json(R"({"parent":{"run_id":")" + to_string(run_no(9)) + R"("}})");
  started.replayed_from_run_id = run_no(8);
  started.definition_fingerprint = "f";
  run.evolve(TimeMs{1000}, started);
  SearchAttributesUpdated attributes;
  attributes.run_id = run_no(1);
  attributes.changes = json(R"({"customer":"ada","total":12})");
  attributes.fingerprint = "f";
  attributes.idempotency_key = "k";
  run.evolve(TimeMs{1000}, attributes);
  EXPECT_EQ("\n" + text_of(run, TimeMs{61'000}), R"(
order  started
run             00000000-0000-0000-0000-000000000001
started         1970-01-01T00:00:01.000Z, 1 min ago
replay of       00000000-0000-0000-0000-000000000008
queue           slow
child of        00000000-0000-0000-0000-000000000009
attributes      customer = "ada", total = 12

It waits for approval manager, open since 1970-01-01T00:00:02.000Z (more than 1000).

What to do next:
  approve it
      holdfast approve 00000000-0000-0000-0000-000000000001
  the wait times out (in 12 s)
)");
}

TEST(ShowRun, only_ids_and_commands_exceed_the_width) {
  for (const std::size_t width : {60U, 80U, 120U}) {
    const std::string text = under_way({.width = width});
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      EXPECT_TRUE(columns_of(line) <= width || line.starts_with("      holdfast ")) << line;
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace holdfast::show_run_test

// The embedded engine and the command line report the same about the runs of a store.
#include <gmock/gmock.h>

#include <cstdio>
#include <regex>
#include <vector>

#include "tests/support/embed_fixture.h"
#include "tests/support/temp_dir.h"

namespace holdfast::embed_inspect_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Without the members that depend on the time of the query.
std::string timeless(const std::string& json) {
  static const std::regex now(R"re("(time|now)":[0-9]+)re");
  return std::regex_replace(json, now, R"("$1":0)");
}

class EmbedInspect : public testing::Test {
 protected:
  void SetUp() override {
    must(engine_.register_workflow_json(
        R"({"workflow":"order","version":"2","steps":[{"name":"charge",
            "retry":{"max_attempts":2,"delay":"0s"}},{"name":"ship","after":["charge"]}]})"));
    must(engine_.register_workflow_json(
        R"({"workflow":"leave","steps":[{"name":"manager",
            "approval":{"reason":"days {days}"}}]})"));
    must(engine_.register_workflow_json(
        R"({"workflow":"trip","steps":[{"name":"ask","child":"leave"}]})"));
    must(engine_.register_workflow_json(
        R"({"workflow":"mails","steps":[{"name":"mail","for_each":[1,2]},
            {"name":"note","log":"done","after":["mail"]}]})"));
    must(engine_.register_handler("charge", [this](StepContext&, std::string_view input) {
      if (input.find("broken") != std::string_view::npos || ++charges_ == 1) {
        return StepResult::retry("declined", "card declined");
      }
      return StepResult::ok(R"({"paid":true,"password":"hunter2"})");
    }));
    must(engine_.register_handler("ship", nothing));
    must(engine_.register_handler("mail", nothing));
  }
  std::string start(std::string_view workflow, std::string_view input = "{}",
                    const StartOptions& options = {}) {
    return must(engine_.start(workflow, input, options)).run_id;
  }
  // Runs that have ended or wait for an operator: no part of them depends on the time.
  void live_a_while() {
    good_ = start("order", R"({"sum":5})", {.search_attributes = R"({"lot":12,"city":"Ulm"})"});
    must(engine_.drain());
    bad_ = start("order", R"({"sum":"broken"})", {.search_attributes = R"({"lot":13})"});
    must(engine_.drain());
    paused_ = start("leave", R"({"days":3})");
    trip_ = start("trip", R"({"days":4})");
    stopped_ = start("leave");
    must(engine_.cancel(stopped_, {.actor = "ann", .comment = "changed my mind"}));
    mails_ = start("mails");
    must(engine_.drain());
    must(engine_.archive(mails_, "old"));
  }
  std::vector<std::string> runs() const { return {good_, bad_, paused_, trip_, stopped_, mails_}; }
  // What the command line prints about the store.
  std::string print(const std::string& command) const {
    const std::string line = std::string(HOLDFAST_PROGRAM) + " " + command + " --json --store " +
                             url_ + " 2>" + folder_.file("stderr");
    std::FILE* pipe = popen(line.c_str(), "r");  // NOLINT(cert-env33-c)
    if (pipe == nullptr) {
      ADD_FAILURE() << line;
      return {};
    }
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
      text += static_cast<char>(c);
    }
    pclose(pipe);
    EXPECT_TRUE(text.ends_with('\n')) << line;
    return text.substr(0, text.find('\n'));
  }

  TempDir folder_;
  std::string url_ = "sqlite:" + folder_.file("work.db");
  Engine engine_ = open_engine(url_);
  std::atomic<int> charges_ = 0;
  std::string good_;
  std::string bad_;
  std::string paused_;
  std::string trip_;
  std::string stopped_;
  std::string mails_;
};

TEST_F(EmbedInspect, reports_the_same_as_the_command_line) {
  live_a_while();
  std::vector<std::pair<std::string, std::string>> printed;  // command to JSON
  for (const std::string& run : runs()) {
    for (const std::string at : {"", "r1", "r3"}) {
      const std::string there = at.empty() ? run : run + " --at " + at;
      printed.emplace_back("explain " + there, must(engine_.explain(run, at)).json);
      printed.emplace_back("show " + there, must(engine_.snapshot_json(run, at)));
      printed.emplace_back("graph --history " + there, must(engine_.graph_json(run, at)));
      printed.emplace_back("timeline " + there, must(engine_.timeline_json(run, at)));
    }
    printed.emplace_back("diff " + run + " --from r1", must(engine_.diff_json(run, "r1")));
    printed.emplace_back("diff " + run + " --from r2 --to r3",
                         must(engine_.diff_json(run, "r2", "r3")));
  }
  printed.emplace_back("status", must(engine_.status_json()));
  printed.emplace_back("status --at 5", must(engine_.status_json("5")));
  printed.emplace_back("doctor", must(engine_.doctor_json()));
  printed.emplace_back("doctor --at 5", must(engine_.doctor_json("5")));
  printed.emplace_back("list", must(engine_.list()).json);
  printed.emplace_back("list --limit 2", must(engine_.list({.limit = 2})).json);
  printed.emplace_back("list --workflow order --status failed",
                       must(engine_.list({.workflow = "order", .statuses = {"failed"}})).json);
  printed.emplace_back(
      "list --attribute lot=12 --archived",
      must(engine_.list({.attributes = R"({"lot":12.0})", .archived = true})).json);
  printed.emplace_back("list --at 5", must(engine_.list({.at = "5"})).json);
  engine_.close();
  for (const auto& [command, json] : printed) {
    EXPECT_EQ(timeless(print(command)), timeless(json)) << command;
  }
}

TEST_F(EmbedInspect, an_explanation_has_its_parts) {
  live_a_while();
  const RunExplanation why = must(engine_.explain(paused_));
  EXPECT_EQ(why.run_id, paused_);
  EXPECT_EQ(why.status, "paused");
  EXPECT_FALSE(why.terminal);
  EXPECT_EQ(why.reason, "manual_intervention_required");
  EXPECT_EQ(why.step, "manager");
  EXPECT_THAT(why.summary, HasSubstr("waits for approval manager, open since "));
  EXPECT_THAT(why.summary, HasSubstr("(days 3)"));
  ASSERT_THAT(why.next_steps, SizeIs(2));
  EXPECT_EQ(why.next_steps[0].action, "resolve_manual_step");
  EXPECT_EQ(why.next_steps[0].summary, "approve it");
  EXPECT_EQ(why.next_steps[0].command,
            "holdfast approve " + paused_ + " --step manager --actor YOU");
  EXPECT_EQ(why.next_steps[0].at_ms, 0);
  const RunExplanation trip = must(engine_.explain(trip_));
  EXPECT_EQ(trip.reason, "waiting_for_child");
  EXPECT_THAT(trip.summary, HasSubstr("which waits for approval manager"));
  const RunExplanation bad = must(engine_.explain(bad_));
  EXPECT_TRUE(bad.terminal);
  EXPECT_EQ(bad.step, "charge");
  EXPECT_THAT(bad.summary, HasSubstr("in step charge: card declined [declined]"));
  EXPECT_THAT(must(engine_.explain(stopped_)).summary, HasSubstr("by ann: changed my mind"));
}

TEST_F(EmbedInspect, an_explanation_gives_the_time_at_which_the_run_continues) {
  must(engine_.register_workflow_json(
      R"({"workflow":"nap","steps":[{"name":"rest","wait":"1h"}]})"));
  const std::string run = start("nap");
  const RunExplanation why = must(engine_.explain(run));
  EXPECT_EQ(why.reason, "attempt_scheduled_for_later");
  ASSERT_THAT(why.next_steps, SizeIs(1));
  EXPECT_EQ(why.next_steps[0].at_ms, inspect(engine_, run).started_at_ms + 3'600'000);
}

TEST_F(EmbedInspect, no_response_contains_a_secret) {
  live_a_while();
  for (const std::string& json :
       {must(engine_.explain(good_)).json, must(engine_.snapshot_json(good_)),
        must(engine_.graph_json(good_)), must(engine_.timeline_json(good_)),
        must(engine_.diff_json(good_, "r1")), must(engine_.list()).json}) {
    EXPECT_THAT(json, testing::Not(HasSubstr("hunter2")));
  }
  EXPECT_THAT(must(engine_.snapshot_json(good_)), HasSubstr("[REDACTED]"));
}

std::vector<std::string> ids(const RunPage& page) {
  std::vector<std::string> ids;
  for (const RunSummary& run : page.runs) {
    ids.push_back(run.run_id);
  }
  return ids;
}

TEST_F(EmbedInspect, lists_contain_the_runs_that_match) {
  live_a_while();
  const auto list = [&](const ListOptions& options) { return ids(must(engine_.list(options))); };
  EXPECT_THAT(list({.workflow = "order"}), ElementsAre(bad_, good_));
  EXPECT_THAT(list({.workflow = "order", .order = ListOrder::oldest_first}),
              ElementsAre(good_, bad_));
  EXPECT_THAT(list({.statuses = {"cancelled", "failed"}}), ElementsAre(stopped_, bad_));
  EXPECT_THAT(list({.attributes = R"({"lot":12.0})"}), ElementsAre(good_));
  EXPECT_THAT(list({.attributes = R"({"lot":12,"city":"Bonn"})"}), IsEmpty());
  EXPECT_THAT(list({.workflow = "mails"}), IsEmpty()) << "archived";
  EXPECT_THAT(list({.workflow = "mails", .archived = true}), ElementsAre(mails_));
  const std::int64_t began = inspect(engine_, bad_).started_at_ms;
  for (const std::string& run : list({.started_from_ms = began})) {
    EXPECT_GE(inspect(engine_, run).started_at_ms, began);
  }
  for (const std::string& run : list({.started_before_ms = began})) {
    EXPECT_LT(inspect(engine_, run).started_at_ms, began);
  }
  const RunPage first = must(engine_.list({.limit = 2}));
  ASSERT_NE(first.next, "");
  EXPECT_THAT(must(engine_.list({.limit = 2, .cursor = first.next})).runs, SizeIs(2));
}

TEST_F(EmbedInspect, invalid_arguments_are_refused) {
  live_a_while();
  for (const std::string at : {"soon", "r0", "r999", "99999", "2999-01-01"}) {
    EXPECT_EQ(code_of(engine_.explain(paused_, at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.snapshot_json(paused_, at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.graph_json(paused_, at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.timeline_json(paused_, at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.diff_json(paused_, at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.diff_json(paused_, "r1", at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.status_json(at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.doctor_json(at)), "invalid_argument") << at;
    EXPECT_EQ(code_of(engine_.list({.at = at})), "invalid_argument") << at;
  }
  EXPECT_EQ(code_of(engine_.status_json("r1")), "invalid_argument") << "only a run has revisions";
  EXPECT_EQ(code_of(engine_.explain("none")), "invalid_argument");
  EXPECT_EQ(code_of(engine_.explain("0198a000-0000-7000-8000-000000000001")), "run_not_found");
  EXPECT_EQ(code_of(engine_.explain(paused_, "0")), "run_not_found") << "the run did not exist yet";
  EXPECT_EQ(code_of(engine_.list({.statuses = {"done"}})), "invalid_argument");
  EXPECT_EQ(code_of(engine_.list({.limit = 0})), "invalid_argument");
  EXPECT_EQ(code_of(engine_.list({.limit = 1001})), "invalid_argument");
  EXPECT_EQ(code_of(engine_.list({.cursor = "x"})), "invalid_argument");
  EXPECT_EQ(code_of(engine_.list({.attributes = "[1]"})), "invalid_argument");
}

TEST_F(EmbedInspect, after_close_every_query_returns_engine_stopped) {
  live_a_while();
  engine_.close();
  EXPECT_EQ(code_of(engine_.explain(paused_)), "engine_stopped");
  EXPECT_EQ(code_of(engine_.explain(good_, "r1")), "engine_stopped");
  EXPECT_EQ(code_of(engine_.snapshot_json(paused_)), "engine_stopped");
  EXPECT_EQ(code_of(engine_.graph_json(paused_)), "engine_stopped");
  EXPECT_EQ(code_of(engine_.timeline_json(paused_)), "engine_stopped");
  EXPECT_EQ(code_of(engine_.diff_json(paused_, "r1")), "engine_stopped");
  EXPECT_EQ(code_of(engine_.status_json()), "engine_stopped");
  EXPECT_EQ(code_of(engine_.doctor_json()), "engine_stopped");
  EXPECT_EQ(code_of(engine_.list()), "engine_stopped");
}

}  // namespace
}  // namespace holdfast::embed_inspect_test

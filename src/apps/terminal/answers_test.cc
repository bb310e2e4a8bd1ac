#include "apps/terminal/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace holdfast {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class AnswersTest : public CoreTest {
 protected:
  void SetUp() override {
    core_ = &open();
    core_->add(one_);
    core_->settle();
    const auto started = core_->start(start_of(1, one_));
    core_->settle();
    ASSERT_EQ(started->code(), "ok");
  }
  Answers answers(Form form, std::string suffix = {}) {
    Style style;
    style.command_suffix = std::move(suffix);
    return Answers(*journal_, clock_, form, style);
  }
  RunId run() { return must(Inspector(*journal_, clock_).find("latest")); }

  TestCore* core_ = nullptr;
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
};

RunListQuery only(std::string_view workflow) {
  RunListQuery query;
  query.filter.workflow = workflow;
  return query;
}

TEST_F(AnswersTest, json_is_one_line) {
  Answers asked = answers(Form::json);
  for (const std::string& text :
       {must(asked.list({}, {})), must(asked.run(run(), {})), must(asked.explain(run(), {})),
        must(asked.graph(run(), {}, {})), must(asked.diff(run(), must(At::parse("r1")), {})),
        must(asked.timeline(run(), {}, Answers::TimelineForm::events)), must(asked.status({})),
        must(asked.doctor({})).text, must(asked.workflows())}) {
    EXPECT_TRUE(Json::parse(text).ok()) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  }
}

TEST_F(AnswersTest, text_is_not_json_and_ends_with_a_newline) {
  Answers asked = answers(Form::text);
  for (const std::string& text :
       {must(asked.list({}, {})), must(asked.run(run(), {})), must(asked.explain(run(), {})),
        must(asked.graph(run(), {}, {})), must(asked.diff(run(), must(At::parse("r1")), {})),
        must(asked.timeline(run(), {}, Answers::TimelineForm::events)), must(asked.status({})),
        must(asked.doctor({})).text, must(asked.workflows())}) {
    EXPECT_FALSE(Json::parse(text).ok()) << text;
    EXPECT_THAT(text, EndsWith("\n"));
  }
}

TEST_F(AnswersTest, an_empty_list_says_whether_there_is_anything_at_all) {
  EXPECT_EQ(must(answers(Form::text, " --store x").list(only("none"), {})),
            "No run matches. All runs: holdfast list --store x\n");
  EXPECT_THAT(must(answers(Form::json).list(only("none"), {})), HasSubstr(R"("runs":[])"));
}

TEST_F(AnswersTest, a_suffix_out_of_a_header_gets_its_space_back) {
  EXPECT_EQ(must(answers(Form::text, "--server http://x").list(only("none"), {})),
            "No run matches. All runs: holdfast list --server http://x\n");
  EXPECT_EQ(with_space(Style{}).command_suffix, "");
}

TEST_F(AnswersTest, graphs_come_in_three_forms) {
  Answers asked = answers(Form::text);
  EXPECT_THAT(must(asked.graph(run(), {}, {GraphForm::dot})), StartsWith("digraph"));
  EXPECT_THAT(must(asked.graph(run(), {}, {GraphForm::mermaid})), HasSubstr("flowchart"));
  EXPECT_THAT(must(asked.graph(run(), {}, {})), Not(HasSubstr("digraph")));
}

TEST_F(AnswersTest, what_was_done_is_told_with_what_the_run_does_since) {
  Answers asked = answers(Form::text);
  Explanation why = must(asked.inspector().explain(run()));
  why.summary = "waits";
  why.next_actions = {{"act", "do it", "holdfast do"}, {"wait", "it comes by itself"}};
  Style style;
  style.command_suffix = "--server s";
  EXPECT_EQ(must(show_steered(asked, run(), approval_deed("ann"), Position{0}, why, style)),
            "run " + to_string(run()) +
                " is approved by ann\nit waits\nnext: do it\n  holdfast do --server s\n");
  why.terminal = true;
  EXPECT_EQ(must(show_steered(asked, run(), kCancelDeed, Position{0}, why, style)),
            "run " + to_string(run()) + " received the cancel command\nit waits\n");
}

TEST_F(AnswersTest, refusals_are_those_of_the_inspector) {
  Answers asked = answers(Form::text);
  EXPECT_EQ(asked.workflow("none").error().code(), ErrorCode::unknown_workflow);
  EXPECT_EQ(asked.workflow_versions("none").error().code(), ErrorCode::unknown_workflow);
  EXPECT_EQ(
      asked.explain(must(parse_run_id("00000000-0000-7000-8000-000000000000")), {}).error().code(),
      ErrorCode::run_not_found);
}

}  // namespace
}  // namespace holdfast

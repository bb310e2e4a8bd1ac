#include "apps/terminal/show_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace holdfast::show_view_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ShowViewTest : public CoreTest {
 protected:
  void SetUp() override {
    core_ = &open();
    core_->add(one_);
    core_->settle();
    const auto started = core_->start(start_of(1, one_));
    core_->settle();
    ASSERT_EQ(started->code(), "ok");
  }
  RunQueries queries(Form form) { return RunQueries(*journal_, clock_, form); }
  std::string shown(const Result<View>& view, Form form, std::string suffix = {}) {
    Style style;
    style.command_suffix = std::move(suffix);
    EXPECT_TRUE(view.ok()) << (view.ok() ? "" : view.error().text());
    return view.ok() ? render_view(view.value(), form, style) : "";
  }
  // Every view, as text or JSON.
  std::vector<std::string> all(Form form) {
    RunQueries known = queries(form);
    TimelineRequest events;
    events.events = true;
    return {shown(known.list({}, ""), form),
            shown(known.of_run(run(), ShowRequest{}), form),
            shown(known.of_run(run(), ExplainRequest{}), form),
            shown(known.of_run(run(), GraphRequest{}), form),
            shown(known.of_run(run(), DiffRequest{"", "r1", ""}), form),
            shown(known.of_run(run(), TimelineRequest{}), form),
            shown(known.of_run(run(), events), form),
            shown(known.of_store(StatusRequest{}), form),
            shown(known.of_store(DoctorRequest{}), form),
            shown(known.of_store(WorkflowsRequest{}), form),
            shown(View(WorkflowView{one_, {{"order", "1", "f00d", TimeMs{1}}}}), form),
            shown(View(WorkflowDiffView{{"order@1", one_}, {"order@2", one_}}), form)};
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

TEST_F(ShowViewTest, json_is_one_line) {
  for (const std::string& text : all(Form::json)) {
    EXPECT_TRUE(Json::parse(text).ok()) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  }
}

TEST_F(ShowViewTest, text_is_not_json_and_ends_with_a_newline) {
  for (const std::string& text : all(Form::text)) {
    EXPECT_FALSE(Json::parse(text).ok()) << text;
    EXPECT_THAT(text, EndsWith("\n"));
  }
}

TEST_F(ShowViewTest, the_details_of_a_run_have_the_json_of_its_snapshot) {
  EXPECT_EQ(view_json(must(queries(Form::text).of_run(run(), ShowRequest{}))),
            view_json(must(queries(Form::json).of_run(run(), ShowRequest{}))));
}

TEST_F(ShowViewTest, an_empty_list_names_the_list_of_all_runs) {
  EXPECT_EQ(shown(queries(Form::text).list(only("none"), ""), Form::text, " --store x"),
            "No run matches. All runs: holdfast list --store x\n");
  EXPECT_THAT(shown(queries(Form::json).list(only("none"), ""), Form::json),
              HasSubstr(R"("runs":[])"));
}

TEST_F(ShowViewTest, a_suffix_from_a_header_gets_its_space_back) {
  EXPECT_EQ(shown(queries(Form::text).list(only("none"), ""), Form::text, "--server http://x"),
            "No run matches. All runs: holdfast list --server http://x\n");
  EXPECT_EQ(with_space(Style{}).command_suffix, "");
}

TEST_F(ShowViewTest, graphs_have_three_forms) {
  RunQueries known = queries(Form::text);
  GraphRequest request;
  EXPECT_THAT(shown(known.of_run(run(), request), Form::text), Not(HasSubstr("digraph")));
  request.form = GraphForm::dot;
  EXPECT_THAT(shown(known.of_run(run(), request), Form::text), StartsWith("digraph"));
  request.form = GraphForm::mermaid;
  EXPECT_THAT(shown(known.of_run(run(), request), Form::text), HasSubstr("flowchart"));
}

TEST_F(ShowViewTest, a_command_result_states_what_the_run_does_since) {
  Inspector inspector(*journal_, clock_);
  Explanation why = must(inspector.explain(run()));
  why.summary = "waits";
  why.next_actions = {{"act", "do it", "holdfast do"}, {"wait", "it comes by itself"}};
  Style style;
  style.command_suffix = "--server s";
  EXPECT_EQ(
      must(show_command_result(inspector, run(), approval_result("ann"), Position{0}, why, style)),
      "run " + to_string(run()) +
          " is approved by ann\nit waits\nnext: do it\n  holdfast do --server s\n");
  why.terminal = true;
  EXPECT_EQ(must(show_command_result(inspector, run(), kCancelResult, Position{0}, why, style)),
            "run " + to_string(run()) + " received the cancel command\nit waits\n");
}

TEST_F(ShowViewTest, errors_are_those_of_the_inspector) {
  RunQueries known = queries(Form::text);
  EXPECT_EQ(known.of_store(WorkflowRequest{"none"}).error().code(), ErrorCode::unknown_workflow);
  EXPECT_EQ(known.of_store(VersionsRequest{{"none"}}).error().code(), ErrorCode::unknown_workflow);
  EXPECT_EQ(known.of_store(StatusRequest{{"x"}}).error().code(), ErrorCode::invalid_argument);
  const RunId none = must(parse_run_id("00000000-0000-7000-8000-000000000000"));
  EXPECT_EQ(known.of_run(none, ExplainRequest{}).error().code(), ErrorCode::run_not_found);
}

}  // namespace
}  // namespace holdfast::show_view_test

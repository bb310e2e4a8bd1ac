#include "runs/language/definition/step_graph.h"

#include <gtest/gtest.h>

#include "tests/support/must.h"

namespace holdfast::step_graph_test {
namespace {

using DefinitionPtr = std::shared_ptr<const Definition>;
using Indexes = std::vector<StepIndex>;

DefinitionPtr parse(const std::string& steps, const std::string& transitions,
                    const std::string& fields = "") {
  return must(Definition::parse(R"({"workflow":"w",)" + fields + R"("steps":[)" + steps +
                                R"(],"transitions":[)" + transitions + "]}"));
}

std::string codes(const std::string& steps, const std::string& transitions,
                  const std::string& fields = "") {
  std::string found;
  for (const DefinitionFault& fault :
       Definition::check(R"({"workflow":"w",)" + fields + R"("steps":[)" + steps +
                         R"(],"transitions":[)" + transitions + "]}")) {
    found += (found.empty() ? "" : " ") + fault.code;
  }
  return found;
}

const std::string kAbc = R"({"name":"a"},{"name":"b"},{"name":"c"})";
const std::string kWhen = R"("when":{"path":"again","equals":true})";

TEST(StepGraph, transitions_are_in_the_order_they_are_declared) {
  const DefinitionPtr one =
      parse(kAbc, R"({"from":"a","to":"b",)" + kWhen +
                      R"(},{"from":"a","on":"error","to":"fail","recovery":"compensation"},)"
                      R"({"from":"a","to":"c"},{"from":"b","to":"complete"})");
  const Step& a = one->steps()[0];
  ASSERT_EQ(a.on_ok.size(), 2U);
  EXPECT_EQ(a.on_ok[0].to.kind, Target::Kind::step);
  EXPECT_EQ(a.on_ok[0].to.step, 1U);
  EXPECT_EQ(a.on_ok[0].to_name.view(), "b");
  EXPECT_TRUE(a.on_ok[0].when.has_value());
  EXPECT_EQ(a.on_ok[0].when_json.view(), R"({"equals":true,"path":"again"})");
  EXPECT_EQ(a.on_ok[1].to.step, 2U);
  EXPECT_FALSE(a.on_ok[1].when.has_value());
  ASSERT_EQ(a.on_error.size(), 1U);
  EXPECT_EQ(a.on_error[0].to.kind, Target::Kind::fail);
  EXPECT_EQ(a.on_error[0].recovery, RecoveryLabel::compensation);
  EXPECT_EQ(one->steps()[1].on_ok[0].to.kind, Target::Kind::complete);
  EXPECT_EQ(one->roots(), Indexes{0});
  EXPECT_EQ(one->path_count(), 1U);
  EXPECT_FALSE(one->steps()[1].begins_path);
}

TEST(StepGraph, the_entry_may_be_the_target_of_a_loop) {
  const std::string loop =
      R"({"from":"a","to":"b"},{"from":"b","to":"a",)" + kWhen + R"(},{"from":"b","to":"c"})";
  EXPECT_EQ(codes(kAbc, loop), "missing_entry_steps");
  const DefinitionPtr one = parse(kAbc, loop, R"("entry":"a",)");
  EXPECT_EQ(one->roots(), Indexes{0});
  EXPECT_EQ(one->path_count(), 1U);
  EXPECT_TRUE(one->steps()[0].begins_path);
}

TEST(StepGraph, a_step_may_follow_itself_on_a_condition) {
  EXPECT_EQ(codes(R"({"name":"a"})", R"({"from":"a","to":"a",)" + kWhen + "}", R"("entry":"a",)"),
            "");
  EXPECT_EQ(codes(R"({"name":"a"})", R"({"from":"a","to":"a"})", R"("entry":"a",)"),
            "transition_cycle");
}

TEST(StepGraph, a_loop_is_left_by_a_timeout_or_a_refusal) {
  EXPECT_EQ(codes(R"({"name":"a","await_event":{"event":"e","timeout":"1h",
                      "on_timeout":"complete"}},{"name":"b"})",
                  R"({"from":"a","to":"b"},{"from":"b","to":"a"})", R"("entry":"a",)"),
            "");
  EXPECT_EQ(codes(R"({"name":"a","approval":true},{"name":"b"})",
                  R"({"from":"a","to":"b"},{"from":"b","to":"a"},
                     {"from":"a","on":"error","to":"complete"})",
                  R"("entry":"a",)"),
            "");
  EXPECT_EQ(codes(R"({"name":"a"},{"name":"b"})",
                  R"({"from":"a","to":"b"},{"from":"b","to":"a"},
                     {"from":"a","on":"error","to":"complete"})",
                  R"("entry":"a",)"),
            "transition_cycle");
}

TEST(StepGraph, paths_begin_where_after_or_nothing_leads) {
  // a -> b, then c after the whole path; d on its own.
  const DefinitionPtr one =
      parse(R"({"name":"a"},{"name":"b"},{"name":"c","after":"a"},{"name":"d"})",
            R"({"from":"a","to":"b"})");
  EXPECT_EQ(one->roots(), (Indexes{0, 3}));
  EXPECT_EQ(one->path_count(), 3U);
  EXPECT_FALSE(one->steps()[1].begins_path);
  EXPECT_TRUE(one->steps()[2].begins_path);
  EXPECT_EQ(one->steps()[0].dependents, Indexes{2});
}

TEST(StepGraph, the_entry_is_one_more_root_beside_steps_with_after) {
  const std::string steps = R"({"name":"a"},{"name":"b"},{"name":"c","after":"a"},{"name":"d"})";
  const std::string loop = R"({"from":"a","to":"b"},{"from":"b","to":"a",)" + kWhen + "}";
  EXPECT_EQ(codes(steps, loop), "dependency_transitions invalid_entry_steps");
  const DefinitionPtr one = parse(steps, loop, R"("entry":"a",)");
  EXPECT_EQ(one->roots(), (Indexes{0, 3}));
  EXPECT_EQ(one->path_count(), 3U);
}

TEST(StepGraph, a_timeout_leads_on_like_a_transition) {
  const DefinitionPtr one =
      must(Definition::parse(R"({"workflow":"w","steps":[{"name":"late"},{"name":"a",
          "await_event":{"event":"e","timeout":"1h","on_timeout":"late"}}]})"));
  EXPECT_EQ(one->roots(), Indexes{1});
  ASSERT_TRUE(one->steps()[1].on_timeout.has_value());
  EXPECT_EQ(one->steps()[1].on_timeout->step, 0U);
  EXPECT_EQ(one->path_count(), 1U);
}

TEST(StepGraph, an_approval_needs_both_transitions_only_if_it_has_one) {
  EXPECT_EQ(codes(R"({"name":"a","approval":true})", ""), "");
  EXPECT_EQ(codes(R"({"name":"a","approval":true},{"name":"b","after":"a"})",
                  R"({"from":"b","to":"complete"})"),
            "");
  EXPECT_EQ(codes(R"({"name":"a","approval":true})", R"({"from":"a","to":"complete"})"),
            "missing_approval_transitions");
}

TEST(StepGraph, without_transitions_every_step_without_after_is_a_root) {
  EXPECT_EQ(parse(kAbc, "")->roots(), (Indexes{0, 1, 2}));
  EXPECT_EQ(parse(kAbc, "")->path_count(), 3U);
  EXPECT_EQ(codes(R"({"name":"a"},{"name":"b","after":"a"})", "", R"("entry":"a",)"), "");
}

}  // namespace
}  // namespace holdfast::step_graph_test

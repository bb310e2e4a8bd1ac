// What the inspector reports about runs and workflows, now and in the past; it only reads.
#include "runs/inspect/inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace holdfast::inspector_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class InspectorTest : public CoreTest {
 protected:
  void SetUp() override { core_ = &open(); }

  void start(int number, const std::shared_ptr<const Definition>& definition) {
    const auto started = core_->start(start_of(number, definition));
    core_->settle();
    ASSERT_EQ(started->code(), "ok");
  }
  void work() {
    const auto worker = core_->worker();
    core_->settle();
    ASSERT_TRUE(worker->given.has_value());
    core_->core.drop(worker->assignment().claim_id);
    clock_.advance_ms(500);
    const auto done = core_->complete(proof_of(worker->assignment()), completion());
    core_->settle();
    ASSERT_EQ(done->code(), "ok");
  }
  void add(const std::shared_ptr<const Definition>& definition) {
    core_->add(definition);
    core_->settle();
    clock_.advance_ms(10);
  }
  static std::shared_ptr<const Definition> version(std::string_view number,
                                                   std::string_view step = "a") {
    return must(Definition::parse(R"({"workflow":"order","version":")" + std::string(number) +
                                  R"(","steps":[{"name":")" + std::string(step) + R"("}]})"));
  }
  static At at(std::string_view text) { return must(At::parse(text)); }
  std::uint64_t head() { return must(journal_->catch_up()).value; }

  TestCore* core_ = nullptr;
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
  Inspector inspector_{*journal_, clock_};
};

// "1 <start of the fingerprint>"
std::vector<std::string> texts(const std::vector<KnownWorkflow>& known) {
  std::vector<std::string> texts;
  for (const KnownWorkflow& one : known) {
    texts.push_back(one.workflow + " " + one.version + " +" +
                    std::to_string(one.registered_at.value - kStart.value));
  }
  return texts;
}

TEST_F(InspectorTest, lists_the_current_and_earlier_definitions_of_workflows) {
  EXPECT_THAT(must(inspector_.workflows()), IsEmpty());
  add(version("1"));
  add(two_);
  add(version("2", "b"));
  EXPECT_THAT(texts(must(inspector_.workflows())), ElementsAre("order 2 +20", "pair 1 +10"));
  EXPECT_THAT(texts(must(inspector_.versions("order"))), ElementsAre("order 2 +20", "order 1 +0"));
  EXPECT_THAT(must(inspector_.versions("none")), IsEmpty());
  EXPECT_EQ(code_of(inspector_.versions("no name")), "invalid_argument");
}

TEST_F(InspectorTest, finds_a_workflow_by_name_version_or_fingerprint) {
  const auto first = version("1");
  const auto second = version("2", "b");
  add(first);
  add(second);
  const auto found = [&](const std::string& name) -> std::string {
    const auto definition = inspector_.workflow(name);
    return definition.ok() ? definition.value()->version().str() : code_of(definition);
  };
  EXPECT_EQ(found("order"), "2");
  EXPECT_EQ(found("order@1"), "1");
  EXPECT_EQ(found("order@" + first->fingerprint().str()), "1");
  EXPECT_EQ(found("order@" + first->fingerprint().str().substr(0, 12)), "1");
  EXPECT_EQ(found("order@3"), "unknown_workflow");
  EXPECT_EQ(found("none"), "unknown_workflow");
  EXPECT_EQ(found("none@1"), "unknown_workflow");
  EXPECT_EQ(found("@1"), "invalid_argument");
}

TEST_F(InspectorTest, every_view_of_the_past_shows_the_state_of_that_time) {
  start(1, two_);
  const std::string first = std::to_string(head());
  work();
  const std::string second = std::to_string(head());
  work();
  EXPECT_EQ(must(inspector_.explain(run_no(1))).reason, Reason::terminal);
  const Explanation then = must(inspector_.explain(run_no(1), at(second)));
  EXPECT_EQ(then.step, "b");
  EXPECT_EQ(then.now, after(kStart, 500)) << "the time of that position";
  EXPECT_EQ(must(inspector_.explain(run_no(1), at(first))).step, "a");
  EXPECT_EQ(must(inspector_.explain(run_no(1), at("500ms"))).step, "b");
  EXPECT_EQ(must(inspector_.explain(run_no(1), at("r1"))).step, "a")
      << "the whole commit of that revision";
  const auto status = [&](std::string_view point) {
    return std::string(must(inspector_.snapshot(run_no(1), at(point))).view());
  };
  EXPECT_THAT(status(""), HasSubstr(R"("status":"completed","terminal":true)"));
  EXPECT_THAT(status(second), HasSubstr(R"("status":"running","terminal":false)"));
  EXPECT_THAT(status(second), HasSubstr(R"({"name":"a","status":"completed")"));
  EXPECT_THAT(status(first), Not(HasSubstr(R"("status":"completed")")));
  const auto current = [&](std::string_view point) {
    return std::string(to_json(must(inspector_.graph(run_no(1), at(point))), false).view());
  };
  EXPECT_NE(current(first), current(second));
  EXPECT_NE(current(second), current(""));
  const Timeline early = must(inspector_.timeline(run_no(1), at(first)));
  const Timeline whole = must(inspector_.timeline(run_no(1)));
  EXPECT_LT(early.events.size(), whole.events.size());
  EXPECT_EQ(early.status, "running");
  EXPECT_EQ(whole.status, "completed");
}

TEST_F(InspectorTest, a_difference_names_its_two_positions) {
  start(1, one_);
  const std::uint64_t first = head();
  work();
  const auto difference = must(inspector_.diff(run_no(1), at(std::to_string(first))));
  EXPECT_EQ(difference.from.position.value, first);
  EXPECT_EQ(difference.to.position.value, head());
  const std::string text(to_json(difference).view());
  EXPECT_THAT(text, HasSubstr(R"({"from":{"position":)" + std::to_string(first) +
                              R"(,"time":1700000000000},"to":{"position":)" +
                              std::to_string(head()) + R"(,"time":1700000000500},"changes":[)"));
  EXPECT_THAT(text, HasSubstr(R"("completed")"));
  EXPECT_THAT(text, Not(HasSubstr("as_of"))) << "from and to give the positions";
  const auto none =
      must(inspector_.diff(run_no(1), at(std::to_string(first)), at(std::to_string(first))));
  EXPECT_THAT(none.changes, IsEmpty());
  const auto back = must(inspector_.diff(run_no(1), {}, at(std::to_string(first))));
  EXPECT_EQ(back.changes.size(), difference.changes.size()) << "also backwards";
}

TEST_F(InspectorTest, runs_that_did_not_exist_yet_are_not_found) {
  start(1, one_);
  const std::string first = std::to_string(head());
  start(2, one_);
  for (const auto& [run, point] : {std::pair<int, std::string>{9, ""}, {2, first}, {1, "0"}}) {
    EXPECT_EQ(code_of(inspector_.snapshot(run_no(run), at(point))), "run_not_found");
    EXPECT_EQ(code_of(inspector_.explain(run_no(run), at(point))), "run_not_found");
    EXPECT_EQ(code_of(inspector_.graph(run_no(run), at(point))), "run_not_found");
    EXPECT_EQ(code_of(inspector_.timeline(run_no(run), at(point))), "run_not_found");
    EXPECT_EQ(code_of(inspector_.diff(run_no(run), at(point))), "run_not_found");
  }
  EXPECT_EQ(code_of(inspector_.snapshot(run_no(1), at("r99"))), "invalid_argument");
  EXPECT_EQ(code_of(inspector_.status(at("r1"))), "invalid_argument");
  EXPECT_EQ(must(inspector_.find("latest")), run_no(2));
}

TEST_F(InspectorTest, a_run_is_shown_with_the_definition_it_started_with) {
  add(version("1"));
  start(1, version("1"));
  add(version("2", "b"));
  EXPECT_EQ(must(inspector_.explain(run_no(1))).version, "1");
  const RunGraph graph = must(inspector_.graph(run_no(1)));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes.front().id, "a");
}

TEST_F(InspectorTest, queries_write_nothing) {
  start(1, one_);
  start(2, definition_of(R"([{"name":"rest","wait":"1s"}])", "nap"));
  clock_.advance_ms(3'600'000);
  const std::uint64_t before = head();
  const auto side = disk_->side;
  must(inspector_.status());
  must(inspector_.doctor());
  must(inspector_.workflows());
  must(inspector_.explain(run_no(2)));
  must(inspector_.timeline(run_no(1)));
  EXPECT_EQ(head(), before);
  EXPECT_EQ(disk_->side, side);
}

}  // namespace
}  // namespace holdfast::inspector_test

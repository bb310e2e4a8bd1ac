#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_child_test {
namespace {

class DecideChild : public ::testing::Test {
 protected:
  DecideChild() { test_.start(); }
  StartChild command() const {
    StartChild command;
    command.origin = test_.origin("ask");
    command.definition = definition_of(R"([{"name":"one"}])", "parcel");
    command.child_key = "parcel-1";
    command.input = json(R"({"weight":3})");
    return command;
  }
  TestRun::Decision decide(const StartChild& command) {
    return
        [this, command](RunProjection& run) { return decide_start_child(run, command, test_.now); };
  }

  TestRun test_{R"([{"name":"ask","retry":{"max_attempts":3}},{"name":"act","after":["ask"]}])"};
};

TEST_F(DecideChild, the_link_says_everything_the_child_needs) {
  const auto link = the<ChildRunStarted>(test_.put(decide(command())));
  EXPECT_EQ(link.child_run_id, child_run_id(run_no(1), command()));
  const auto definition = command().definition;
  const StartRun start = start_of_child(link, definition);
  EXPECT_EQ(start.run_id, link.child_run_id);
  EXPECT_EQ(start.trigger, SharedText("child"));
  EXPECT_EQ(start.input, json(R"({"weight":3})"));
  EXPECT_NE(start.context.view().find(to_string(run_no(1))), std::string_view::npos);
  RunProjection child(start.run_id);
  EXPECT_TRUE(decide_start(child, start, nothing_around(), test_.now).ok());
}

TEST_F(DecideChild, a_retry_of_the_step_finds_the_same_child) {
  test_.put(decide(command()));
  EXPECT_TRUE(test_.put(decide(command())).empty());
  test_.fail("ask");
  EXPECT_EQ(command().origin.attempt, 2U);
  test_.now = TimeMs{5000};
  EXPECT_TRUE(test_.put(decide(command())).empty());
}

TEST_F(DecideChild, other_content_under_the_same_key_is_refused) {
  test_.put(decide(command()));
  StartChild other = command();
  other.input = json(R"({"weight":4})");
  EXPECT_EQ(code_of(test_.dry_run(decide(other))), ErrorCode::conflicting_child_run);
  other = command();
  other.queue = "slow";
  EXPECT_EQ(code_of(test_.dry_run(decide(other))), ErrorCode::conflicting_child_run);
}

TEST_F(DecideChild, each_key_trigger_and_workflow_has_its_own_child) {
  const RunId first = child_run_id(run_no(1), command());
  StartChild other = command();
  other.child_key = "parcel-2";
  EXPECT_NE(child_run_id(run_no(1), other), first);
  other = command();
  other.trigger = "api";
  EXPECT_NE(child_run_id(run_no(1), other), first);
  other = command();
  other.definition = definition_of(R"([{"name":"one"}])", "letter");
  EXPECT_NE(child_run_id(run_no(1), other), first);
  EXPECT_NE(child_run_id(run_no(2), command()), first);
}

TEST_F(DecideChild, only_the_current_attempt_starts_children) {
  StartChild old = command();
  test_.fail("ask");
  EXPECT_EQ(code_of(test_.dry_run(decide(old))), ErrorCode::invalid_parent_context);
  old = command();
  old.origin.attempt = 7;
  EXPECT_EQ(code_of(test_.dry_run(decide(old))), ErrorCode::invalid_parent_context);
  old = command();
  old.origin.step = "act";
  EXPECT_EQ(code_of(test_.dry_run(decide(old))), ErrorCode::invalid_parent_context);
  old = command();
  old.origin.runnable_key = "other";
  EXPECT_EQ(code_of(test_.dry_run(decide(old))), ErrorCode::invalid_parent_context);
  old = command();
  test_.apply("ask");
  EXPECT_EQ(code_of(test_.dry_run(decide(old))), ErrorCode::invalid_parent_context);
}

TEST_F(DecideChild, a_run_that_ended_starts_no_children) {
  const StartChild late = command();
  test_.cancel();
  EXPECT_EQ(code_of(test_.dry_run(decide(late))), ErrorCode::terminal_run);
}

TEST_F(DecideChild, what_cannot_be_stored_is_refused) {
  const auto code_with = [&](auto change) {
    StartChild changed = command();
    change(changed);
    return code_of(test_.dry_run(decide(changed)));
  };
  EXPECT_EQ(code_with([](StartChild& child) { child.child_key = {}; }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](StartChild& child) { child.input = json("1"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](StartChild& child) { child.metadata = json("1"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](StartChild& child) { child.queue = "a b"; }), ErrorCode::invalid_argument);
}

TEST_F(DecideChild, secrets_in_the_metadata_are_not_stored) {
  StartChild secret = command();
  secret.metadata = json(R"({"token":"hunter2"})");
  const auto link = the<ChildRunStarted>(test_.put(decide(secret)));
  EXPECT_EQ(link.metadata.view().find("hunter2"), std::string_view::npos);
  EXPECT_TRUE(test_.put(decide(secret)).empty());
}

}  // namespace
}  // namespace holdfast::run_decide_child_test

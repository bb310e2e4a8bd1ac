// The trace context of a run, as the workers that execute its steps see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/service/run_commands.h"
#include "tests/support/core_fixture.h"

namespace holdfast::trace_test {
namespace {

constexpr std::string_view kTrace =
    R"({"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})";

class Trace : public CoreTest {
 protected:
  // A core that knows the workflow.
  TestCore& open_with(const std::shared_ptr<const Definition>& definition) {
    TestCore& core = open();
    core.add(definition);
    core.settle();
    return core;
  }
  void start(TestCore& core, int number, std::string_view workflow, const Payload& trace) {
    StartRequest request;
    request.workflow = workflow;
    request.run_id = to_string(run_no(number));
    const auto start = must(commands_.start(request, trace));
    const auto started = core.execute<Started>(start.decide);
    core.settle();
    EXPECT_EQ(started->code(), "ok");
  }
  static Payload trace() { return Payload::trusted(kTrace); }

  // The next visible attempt.
  static Assignment next(TestCore& core) {
    const auto worker = core.worker();
    core.settle();
    if (worker->calls == 0) {
      core.core.withdraw_request(worker->waiting);
      ADD_FAILURE() << "no attempt is visible";
      return {};
    }
    core.core.drop(worker->assignment().claim_id);
    return worker->assignment();
  }
  static void complete(TestCore& core, const Assignment& given) {
    const auto done = core.complete(proof_of(given), completion());
    core.settle();
    EXPECT_EQ(done->code(), "ok");
  }
  static void fail(TestCore& core, const Assignment& given) {
    const auto done = core.fail(proof_of(given), failure());
    core.settle();
    EXPECT_EQ(done->code(), "ok");
  }
  static std::string seen(const Assignment& given) {
    return given.step.str() + "/" + std::to_string(given.attempt_number) + " " +
           std::string(given.trace.view());
  }
  static std::string with(const std::string& attempt) {
    return attempt + " " + std::string(kTrace);
  }

  SeededRandom random_{7};
  RunCommands commands_{clock_, random_, "test"};
};

TEST_F(Trace, is_passed_to_every_step) {
  TestCore& core = open_with(two_);
  start(core, 1, "pair", trace());
  const Assignment first = next(core);
  EXPECT_EQ(seen(first), with("a/1"));
  complete(core, first);
  EXPECT_EQ(seen(next(core)), with("b/1"));
}

TEST_F(Trace, that_was_not_given_is_empty) {
  TestCore& core = open_with(one_);
  start(core, 1, "order", {});
  EXPECT_TRUE(next(core).trace.empty());
}

TEST_F(Trace, belongs_to_one_run) {
  TestCore& core = open_with(one_);
  start(core, 1, "order", trace());
  start(core, 2, "order", {});
  for (int i = 0; i < 2; ++i) {
    const Assignment given = next(core);
    EXPECT_EQ(given.trace.empty(), given.run_id == run_no(2));
  }
}

TEST_F(Trace, is_passed_to_retries) {
  TestCore& core = open_with(
      definition_of(R"([{"name":"a","retry":{"max_attempts":3,"delay_ms":10}}])", "stubborn"));
  start(core, 1, "stubborn", trace());
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const Assignment given = next(core);
    EXPECT_EQ(seen(given), with("a/" + std::to_string(attempt)));
    fail(core, given);
    clock_.advance_ms(10'000);
    core.settle();
  }
}

TEST_F(Trace, is_passed_to_the_next_owner_after_a_lost_lease) {
  TestCore& core = open_with(one_);
  start(core, 1, "order", trace());
  static_cast<void>(next(core));
  clock_.advance_ms(600'000);
  EXPECT_EQ(seen(next(core)), with("a/1"));
}

TEST_F(Trace, is_passed_to_the_compensation_of_a_step) {
  TestCore& core = open_with(
      definition_of(R"([{"name":"a","compensate":"undo"},{"name":"b","after":["a"]}])", "saga"));
  start(core, 1, "saga", trace());
  complete(core, next(core));
  fail(core, next(core));
  EXPECT_EQ(seen(next(core)), with("compensate:a/1"));
}

TEST_F(Trace, survives_a_restart_with_and_without_a_checkpoint) {
  {
    TestCore& core = open_with(two_);
    start(core, 1, "pair", trace());
    start(core, 2, "pair", trace());
  }
  cores_.clear();
  {
    TestCore& core = open_with(two_);
    const Assignment first = next(core);
    EXPECT_EQ(seen(first), with("a/1"));
    complete(core, first);
    core.core.request_checkpoint();
    core.core.decide(clock_.now());
    must(Core::save(*core.journal, core.core.take_checkpoint().value()));
  }
  cores_.clear();
  TestCore& core = open_with(two_);
  EXPECT_EQ(seen(next(core)).substr(1), with("/1")) << "for either run";
  EXPECT_EQ(seen(next(core)).substr(1), with("/1"));
}

TEST_F(Trace, of_a_parent_is_passed_to_its_children) {
  const auto child = definition_of(R"([{"name":"c"}])", "child");
  TestCore& core = open_with(one_);
  core.add(child);
  start(core, 1, "order", trace());
  const Assignment given = next(core);
  StartChild command;
  command.origin = {given.runnable_key, given.step, given.attempt_number};
  command.definition = child;
  command.child_key = "k";
  command.input = Payload::trusted("{}");
  const auto started = core.execute<Started>(
      [command](Turn& turn) { return start_child(turn, run_no(1), command); });
  core.settle();
  ASSERT_EQ(started->code(), "ok");
  EXPECT_EQ(seen(next(core)), with("c/1"));
}

TEST_F(Trace, is_stored_with_the_run_in_the_journal) {
  TestCore& core = open_with(one_);
  start(core, 1, "order", trace());
  for (const Entry& entry : must(core.journal->load(run_thread(run_no(1))))) {
    if (entry.kind == RunStarted::kKind) {
      EXPECT_EQ(must(from_json<RunStarted>(entry.data)).trace.view(), kTrace);
      return;
    }
  }
  ADD_FAILURE() << "the run has not started";
}

}  // namespace
}  // namespace holdfast::trace_test

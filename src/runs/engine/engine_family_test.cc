// Runs that start child runs: a change to one of them and its effects on the others are one commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/core_fixture.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_family_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Family : public CoreTest {
 protected:
  void SetUp() override {
    core_ = &open();
    core_->add(definition_of(R"([{"name":"pack"}])", "box"));
    core_->settle();
  }

  // Starts a run of these steps; its id is 1.
  void start(std::string_view steps, std::string_view transitions = "") {
    const std::string more =
        transitions.empty() ? "" : R"(,"transitions":)" + std::string(transitions);
    parent_ = must(
        Definition::parse(R"({"workflow":"parcel","steps":)" + std::string(steps) + more + "}"));
    const auto started = core_->start(start_of(1, parent_));
    core_->settle();
    ASSERT_EQ(started->code(), "ok");
  }
  Assignment take(std::string_view handler) {
    const auto worker = core_->worker({SharedText(handler)});
    core_->settle();
    if (!worker->given.has_value()) {
      ADD_FAILURE() << "no attempt for handler " << handler;
      return {};
    }
    core_->core.drop(worker->assignment().claim_id);
    return worker->assignment();
  }
  void complete(const Assignment& given, std::string_view result = "{}",
                std::string_view opts = "") {
    Completion done = completion(result);
    done.execution_opts = opts.empty() ? Payload() : Payload::trusted(opts);
    const auto reported = core_->complete(proof_of(given), done);
    core_->settle();
    EXPECT_EQ(reported->code(), "ok") << given.step.view();
  }
  // What the handler of the attempt requests; the child ends with its parent.
  RunId start_child(const Assignment& given, std::string_view key) {
    StartChild command;
    command.origin = Origin{given.runnable_key, given.step, given.attempt_number};
    command.definition = definition_of(R"([{"name":"pack"}])", "box");
    command.child_key = key;
    command.on_parent_close = ParentClose::cancel;
    const auto started = core_->execute<Started>([command, run = given.run_id](Turn& turn) {
      return holdfast::start_child(turn, run, command);
    });
    core_->settle();
    EXPECT_EQ(started->code(), "ok");
    return child_run_id(given.run_id, command);
  }
  void fail(const Assignment& given) {
    const auto reported = core_->fail(proof_of(given), failure());
    core_->settle();
    EXPECT_EQ(reported->code(), "ok") << given.step.view();
  }

  Audit found() { return audit(open_memory_journal(disk_)->log()); }
  RunStatus status(const RunId& run) { return found().runs.at(run)->status(); }
  std::string context(const RunId& run) {
    return std::string(found().runs.at(run)->context().view());
  }
  std::string error_of(const RunId& run) {
    const Audit all = found();
    const auto& terminal = all.runs.at(run)->terminal();
    return terminal.has_value() ? std::string(terminal->error.view()) : "it has not ended";
  }
  // The children of a run that a step started, oldest first.
  std::vector<RunId> children(const RunId& run, std::string_view step = "") {
    const Audit all = found();
    std::vector<std::pair<std::string, RunId>> links;
    for (const auto& [id, link] : all.runs.at(run)->children()) {
      if (step.empty() || link.origin.step.view() == step) {
        links.emplace_back(link.child_key.str(), id);
      }
    }
    std::sort(links.begin(), links.end());
    std::vector<RunId> ids;
    for (const auto& [key, id] : links) {
      ids.push_back(id);
    }
    return ids;
  }
  RunId child(const RunId& run = run_no(1), std::string_view step = "") {
    const auto all = children(run, step);
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? RunId{} : all.front();
  }
  Position head() { return must(core_->journal->catch_up()); }
  std::vector<std::string> kinds_after(Position before) {
    return kinds_from(*open_memory_journal(disk_), before.next());
  }
  void TearDown() override {
    EXPECT_THAT(found().anomalies(), IsEmpty());
    EXPECT_FALSE(core_->core.stopped().has_value());
    core_->settle();
    EXPECT_EQ(folded_anew(), core_->core.state().encode()) << "a new process has the same state";
  }

  TestCore* core_ = nullptr;
  std::shared_ptr<const Definition> parent_;
};

using AwaitedChild = Family;

TEST_F(AwaitedChild, starts_with_its_step_in_one_commit) {
  const Position before = head();
  start(R"([{"name":"ship","input":{"weight":{"value":3}},"child":"box"}])");
  EXPECT_EQ(head(), before.next());
  EXPECT_EQ(status(run_no(1)), RunStatus::running);
  EXPECT_EQ(status(child()), RunStatus::running);
  const Assignment pack = take("pack");
  EXPECT_EQ(pack.run_id, child());
  EXPECT_EQ(pack.input.view(), R"({"weight":3})");
}

TEST_F(AwaitedChild, continues_its_parent_in_the_commit_that_ends_it) {
  start(R"([{"name":"ship","output":"box","child":"box"},{"name":"thank","after":["ship"]}])");
  const Assignment pack = take("pack");
  const Position before = head();
  complete(pack, R"({"size":2})");
  EXPECT_EQ(head(), before.next());
  EXPECT_THAT(kinds_after(before),
              ElementsAre("attempt_completed", "runnable_applied", "run_terminal",
                          "runnable_applied", "runnables_planned", "attempt_scheduled"));
  EXPECT_EQ(status(child()), RunStatus::completed);
  EXPECT_EQ(context(run_no(1)), R"({"box":{"size":2}})");
  complete(take("thank"));
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
}

TEST_F(AwaitedChild, that_fails_fails_its_parent) {
  start(R"([{"name":"ship","child":"box"}])");
  const Assignment pack = take("pack");
  const Position before = head();
  fail(pack);
  EXPECT_EQ(head(), before.next());
  EXPECT_EQ(status(child()), RunStatus::failed);
  EXPECT_EQ(status(run_no(1)), RunStatus::failed);
  EXPECT_THAT(error_of(run_no(1)),
              AllOf(HasSubstr(R"("code":"child_failed")"), HasSubstr(R"("code":"declined")"),
                    HasSubstr(to_string(child()))));
}

TEST_F(AwaitedChild, that_fails_is_retried_as_another_run) {
  start(R"([{"name":"ship","child":"box","retry":{"max_attempts":2,"delay_ms":50}}])");
  fail(take("pack"));
  EXPECT_EQ(status(run_no(1)), RunStatus::running);
  EXPECT_EQ(core_->core.next_timer(clock_.now()), after(clock_.now(), 50));
  clock_.advance_ms(50);
  core_->settle();
  const auto both = children(run_no(1));
  ASSERT_THAT(both, SizeIs(2));
  const Assignment again = take("pack");
  EXPECT_EQ(again.run_id, both[1]);
  complete(again, R"({"size":2})");
  EXPECT_EQ(status(both[0]), RunStatus::failed);
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
  EXPECT_EQ(context(run_no(1)), R"({"size":2})");
}

TEST_F(AwaitedChild, that_fails_makes_its_parent_take_the_error_route) {
  start(R"([{"name":"ship","child":"box"},{"name":"sorry"}])",
        R"([{"from":"ship","on":"error","to":"sorry"},{"from":"ship","on":"ok","to":"complete"}])");
  fail(take("pack"));
  complete(take("sorry"));
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
}

TEST_F(AwaitedChild, that_is_cancelled_alone_fails_its_parent) {
  start(R"([{"name":"ship","child":"box","retry":{"max_attempts":3}}])");
  core_->cancel(child());
  core_->settle();
  EXPECT_THAT(error_of(run_no(1)), HasSubstr(R"("code":"child_cancelled")"));
}

TEST_F(AwaitedChild, of_an_unknown_workflow_parks_its_parent) {
  start(R"([{"name":"ship","child":"ghost"}])");
  EXPECT_EQ(status(run_no(1)), RunStatus::parked);
}

TEST_F(AwaitedChild, ends_at_once_when_the_engine_executes_all_its_steps) {
  core_->add(definition_of(R"([{"name":"say","log":"hello"}])", "greeting"));
  core_->add(definition_of(R"([{"name":"greet","child":"greeting"}])", "welcome"));
  core_->settle();
  const Position before = head();
  start(R"([{"name":"in","child":"welcome"},{"name":"bye","after":["in"],"log":"bye"}])");
  EXPECT_EQ(head(), before.next()) << "three runs, one commit";
  const RunId welcome = child();
  EXPECT_EQ(status(child(welcome)), RunStatus::completed);
  EXPECT_EQ(status(welcome), RunStatus::completed);
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
  EXPECT_EQ(core_->core.state().runs().count(), 0U);
  EXPECT_THAT(core_->reports.back().lines, SizeIs(2));
}

TEST_F(AwaitedChild, with_an_input_like_a_log_line_writes_no_log_line) {
  core_->add(definition_of(R"([{"name":"say","log":"hello"}])", "greeting"));
  core_->settle();
  start(R"([{"name":"greet","child":"greeting",)"
        R"("input":{"level":{"value":"error"},"message":{"value":"disk full"}}}])");
  ASSERT_THAT(core_->reports.back().lines, SizeIs(1)) << "only the log step of the child";
  EXPECT_EQ(core_->reports.back().lines.front().step.view(), "say");
}

TEST_F(AwaitedChild, is_started_for_each_item_of_a_list) {
  parent_ = definition_of(R"([{"name":"ship","for_each":"boxes","child":"box"}])", "parcel");
  StartRun command = start_of(1, parent_);
  command.input = Payload::trusted(R"({"boxes":[10,20]})");
  core_->start(command);
  core_->settle();
  EXPECT_THAT(children(run_no(1)), SizeIs(2));
  const Assignment first = take("pack");
  const Assignment second = take("pack");
  EXPECT_NE(first.run_id, second.run_id);
  complete(second, R"({"of":"second"})");
  complete(first, R"({"of":"first"})");
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
  EXPECT_THAT(context(run_no(1)), HasSubstr(R"("of":"first"},{)")) << "in the order of the items";
}

TEST_F(AwaitedChild, whose_end_another_engine_writes_continues_its_parent) {
  start(R"([{"name":"ship","child":"box"},{"name":"thank","after":["ship"]}])");
  const Assignment pack = take("pack");
  TestCore& other = open();
  const auto done = other.complete(proof_of(pack), completion());
  other.settle();
  EXPECT_EQ(done->code(), "ok");
  core_->core.check_for_changes();
  core_->settle();
  complete(take("thank"));
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
}

TEST_F(AwaitedChild, whose_end_is_lost_to_a_conflict_ends_again_with_all_its_effects) {
  start(R"([{"name":"ship","child":"box"},{"name":"thank","after":["ship"]}])");
  const Assignment pack = take("pack");
  TestCore& other = open();
  core_->hooks->before_append = [&]() -> Result<void> {
    other.start(start_of(9, one_));
    other.settle();
    return {};
  };
  complete(pack);
  EXPECT_EQ(core_->core.stats().conflicts, 1U);
  EXPECT_EQ(found().kinds.at("run_terminal"), 1U);
  EXPECT_EQ(take("thank").run_id, run_no(1));
}

TEST_F(AwaitedChild, that_is_replayed_has_no_parent) {
  start(R"([{"name":"ship","output":"box","child":"box"}])");
  const Assignment pack = take("pack");
  ReplayRun again;
  again.run_id = run_no(2);
  const auto started = core_->execute<Started>([&](Turn& turn) -> Result<Started> {
    HOLDFAST_TRY(const RunProjection* source, turn.state().runs().get(pack.run_id));
    HOLDFAST_TRY(const StartRun command, plan_replay(*source, again));
    return start_run(turn, command, IdOrigin::given);
  });
  core_->settle();
  EXPECT_EQ(started->code(), "ok");
  complete(take("pack"), R"({"size":1})");
  EXPECT_EQ(status(run_no(2)), RunStatus::completed);
  EXPECT_EQ(status(run_no(1)), RunStatus::running) << "it waits for its own child";
  complete(pack, R"({"size":2})");
  EXPECT_EQ(context(run_no(1)), R"({"box":{"size":2}})");
}

using Generations = Family;

TEST_F(Generations, continue_together_when_the_youngest_ends) {
  core_->add(definition_of(R"([{"name":"load","output":"load","child":"box"}])", "truck"));
  core_->settle();
  start(R"([{"name":"ship","output":"ship","child":"truck"}])");
  const RunId truck = child();
  const RunId box = child(truck);
  const Assignment pack = take("pack");
  EXPECT_EQ(pack.run_id, box);
  const Position before = head();
  complete(pack, R"({"size":2})");
  EXPECT_EQ(head(), before.next());
  EXPECT_EQ(context(run_no(1)), R"({"ship":{"load":{"size":2}}})");
  for (const RunId& run : {box, truck, run_no(1)}) {
    EXPECT_EQ(status(run), RunStatus::completed);
  }
  EXPECT_EQ(core_->core.state().runs().count(), 0U);
}

TEST_F(Generations, fail_together_when_the_youngest_fails) {
  core_->add(definition_of(R"([{"name":"load","child":"box"}])", "truck"));
  core_->settle();
  start(R"([{"name":"ship","child":"truck"}])");
  const RunId truck = child();
  fail(take("pack"));
  for (const RunId& run : {child(truck), truck, run_no(1)}) {
    EXPECT_EQ(status(run), RunStatus::failed);
  }
}

TEST_F(Generations, are_cancelled_together) {
  core_->add(definition_of(R"([{"name":"load","child":"box"}])", "truck"));
  core_->settle();
  start(R"([{"name":"ship","child":"truck"}])");
  const RunId truck = child();
  const auto worker = core_->worker({"pack"});
  core_->settle();
  const Position before = head();
  core_->cancel(run_no(1));
  core_->settle();
  EXPECT_EQ(head(), before.next());
  for (const RunId& run : {child(truck), truck, run_no(1)}) {
    EXPECT_EQ(status(run), RunStatus::cancelled);
  }
  EXPECT_THAT(worker->lost, ElementsAre("terminal_run"));
  EXPECT_EQ(core_->core.state().runs().count(), 0U);
}

using ClosedParent = Family;

TEST_F(ClosedParent, cancels_its_children_except_detached_ones) {
  start(R"([{"name":"ship","child":"box"},
            {"name":"copy","child":{"workflow":"box","detached":true}},
            {"name":"keep","child":{"workflow":"box","on_parent_close":"detach"}},
            {"name":"wait","pause":true}])");
  core_->cancel(run_no(1));
  core_->settle();
  EXPECT_EQ(status(child(run_no(1), "ship")), RunStatus::cancelled);
  EXPECT_EQ(status(child(run_no(1), "copy")), RunStatus::running);
  EXPECT_EQ(status(child(run_no(1), "keep")), RunStatus::running);
  complete(take("pack"));
  complete(take("pack"));
  EXPECT_EQ(core_->core.state().runs().count(), 0U);
}

TEST_F(ClosedParent, that_failed_cancels_its_children) {
  start(R"([{"name":"ship","child":"box"},{"name":"pay"}])");
  fail(take("pay"));
  EXPECT_EQ(status(run_no(1)), RunStatus::failed);
  EXPECT_EQ(status(child()), RunStatus::cancelled);
}

TEST_F(ClosedParent, that_completed_does_not_cancel_a_detached_child) {
  start(R"([{"name":"copy","output":"copy","child":{"workflow":"box","detached":true}}])");
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
  EXPECT_EQ(context(run_no(1)), R"({"copy":{"run_id":")" + to_string(child()) + R"("}})");
  complete(take("pack"));
  EXPECT_EQ(status(child()), RunStatus::completed);
}

TEST_F(ClosedParent, lets_children_compensate_that_do_so_when_cancelled) {
  core_->add(must(Definition::parse(
      R"({"workflow":"careful","compensate_on_cancel":true,"steps":[)"
      R"({"name":"pack","compensate":"unpack"},{"name":"send","after":["pack"]}]})")));
  core_->settle();
  start(R"([{"name":"ship","child":"careful"}])");
  complete(take("pack"));
  core_->cancel(run_no(1));
  core_->settle();
  EXPECT_EQ(status(run_no(1)), RunStatus::cancelled);
  EXPECT_EQ(status(child()), RunStatus::compensating);
  complete(take("unpack"));
  EXPECT_EQ(status(child()), RunStatus::cancelled);
}

// Children that end with their parent and not with one of its steps.
using ContinuingParent = Family;

TEST_F(ContinuingParent, does_not_cancel_the_child_that_its_handler_started) {
  start(R"([{"name":"order"},{"name":"thank"}])", R"([{"from":"order","to":"thank"}])");
  const Assignment order = take("order");
  const RunId box = start_child(order, "b");
  complete(order);
  EXPECT_EQ(status(box), RunStatus::running) << "the parent continued; it did not end";
  fail(take("thank"));
  EXPECT_EQ(status(box), RunStatus::cancelled);
}

TEST_F(ContinuingParent, on_an_error_route_does_not_cancel_the_child_that_its_handler_started) {
  start(R"([{"name":"order"},{"name":"sorry"}])",
        R"([{"from":"order","to":"complete"},{"from":"order","on":"error","to":"sorry"}])");
  const Assignment order = take("order");
  const RunId box = start_child(order, "b");
  fail(order);
  EXPECT_EQ(status(box), RunStatus::running);
  complete(take("sorry"));
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
  EXPECT_EQ(status(box), RunStatus::cancelled);
}

TEST_F(ContinuingParent, does_not_cancel_a_child_it_does_not_wait_for) {
  start(R"([{"name":"copy","child":{"workflow":"box","detached":true,"on_parent_close":"cancel"}},
            {"name":"thank"}])",
        R"([{"from":"copy","to":"thank"}])");
  EXPECT_EQ(status(child()), RunStatus::running);
  complete(take("thank"));
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
  EXPECT_EQ(status(child()), RunStatus::cancelled);
}

TEST_F(ContinuingParent, does_not_cancel_children_of_withdrawn_handlers_until_it_ends) {
  start(R"([{"name":"each","for_each":[1,2]},{"name":"sorry"}])",
        R"([{"from":"each","to":"complete"},{"from":"each","on":"error","to":"sorry"}])");
  const Assignment first = take("each");
  const RunId box = start_child(take("each"), "b");
  fail(first);
  EXPECT_EQ(status(box), RunStatus::running);
  complete(take("sorry"));
  EXPECT_EQ(status(box), RunStatus::cancelled);
}

// Children for which a step no longer waits.
using AbandonedChild = Family;

TEST_F(AbandonedChild, is_cancelled_when_its_step_takes_the_error_route) {
  start(R"([{"name":"ship","child":"box","timeout":"5s"},{"name":"sorry"}])",
        R"([{"from":"ship","to":"complete"},{"from":"ship","on":"error","to":"sorry"}])");
  clock_.advance_ms(5'000);
  core_->settle();
  EXPECT_EQ(status(child()), RunStatus::cancelled);
  EXPECT_EQ(take("sorry").run_id, run_no(1)) << "the parent continues";
}

TEST_F(AbandonedChild, is_cancelled_when_another_child_replaces_it) {
  start(R"([{"name":"ship","child":"box","timeout":"5s","retry":{"max_attempts":2}}])");
  clock_.advance_ms(5'000);
  core_->settle();
  const auto both = children(run_no(1));
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(status(both[0]), RunStatus::cancelled);
  EXPECT_EQ(status(both[1]), RunStatus::running);
  complete(take("pack"));
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
}

TEST_F(AbandonedChild, of_one_item_is_cancelled_when_another_item_fails) {
  start(R"([{"name":"ship","for_each":[1,2,3],"child":"box"},{"name":"sorry"}])",
        R"([{"from":"ship","to":"complete"},{"from":"ship","on":"error","to":"sorry"}])");
  const Assignment one = take("pack");
  complete(take("pack"));
  fail(one);
  std::vector<RunStatus> ends;
  for (const RunId& box : children(run_no(1))) {
    ends.push_back(status(box));
  }
  EXPECT_THAT(ends,
              UnorderedElementsAre(RunStatus::failed, RunStatus::completed, RunStatus::cancelled));
  EXPECT_EQ(status(run_no(1)), RunStatus::running);
}

using ContinuedChild = Family;

TEST_F(ContinuedChild, gives_its_parent_the_result_of_its_successor) {
  start(R"([{"name":"ship","output":"box","child":"box"}])");
  const RunId first = child();
  complete(take("pack"), R"({"page":1})", R"({"continue_as_new":{"key":"p2","input":{"page":2}}})");
  EXPECT_EQ(status(first), RunStatus::continued);
  EXPECT_EQ(status(run_no(1)), RunStatus::running);
  const Assignment second = take("pack");
  EXPECT_EQ(second.run_id, successor_run_id(first, "p2"));
  complete(second, R"({"size":2})");
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
  EXPECT_EQ(context(run_no(1)), R"({"box":{"page":2,"size":2}})");
}

TEST_F(ContinuedChild, is_cancelled_as_its_successor) {
  start(R"([{"name":"ship","child":"box"}])");
  const RunId first = child();
  complete(take("pack"), "{}", R"({"continue_as_new":{"key":"p2","input":{}}})");
  complete(take("pack"), "{}", R"({"continue_as_new":{"key":"p3","input":{}}})");
  core_->cancel(run_no(1));
  core_->settle();
  const RunId newest = successor_run_id(successor_run_id(first, "p2"), "p3");
  EXPECT_EQ(status(newest), RunStatus::cancelled);
  EXPECT_EQ(status(first), RunStatus::continued);
  EXPECT_EQ(core_->core.state().runs().count(), 0U);
}

TEST_F(ContinuedChild, of_an_unregistered_workflow_continues_with_its_own_definition) {
  const auto started = core_->start(start_of(5, definition_of(R"([{"name":"turn"}])", "loose")));
  core_->settle();
  EXPECT_EQ(started->code(), "ok");
  complete(take("turn"), "{}", R"({"continue_as_new":{"key":"k","input":{}}})");
  EXPECT_EQ(take("turn").run_id, successor_run_id(run_no(5), "k"));
}

using FamilyCompensating = Family;

TEST_F(FamilyCompensating, cancels_the_children_it_waits_for) {
  start(R"([{"name":"book","compensate":"unbook"},
            {"name":"ship","after":["book"],"child":"box"},
            {"name":"pay","after":["book"]}])");
  complete(take("book"));
  const Assignment pack = take("pack");
  const Position before = head();
  fail(take("pay"));
  EXPECT_THAT(kinds_after(before),
              IsSupersetOf({"compensation_started", "runnables_withdrawn", "run_terminal"}));
  EXPECT_EQ(status(child()), RunStatus::cancelled);
  EXPECT_EQ(status(run_no(1)), RunStatus::compensating);
  const auto late = core_->complete(proof_of(pack), completion());
  core_->settle();
  EXPECT_EQ(late->code(), "terminal_run");
  complete(take("unbook"));
  EXPECT_EQ(status(run_no(1)), RunStatus::failed);
  EXPECT_THAT(error_of(run_no(1)), HasSubstr("declined"));
}

TEST_F(FamilyCompensating, starts_when_a_child_fails) {
  start(R"([{"name":"book","compensate":"unbook"},
            {"name":"ship","after":["book"],"child":"box"}])");
  complete(take("book"), R"({"booking":1})");
  fail(take("pack"));
  EXPECT_EQ(status(run_no(1)), RunStatus::compensating);
  const Assignment unbook = take("unbook");
  EXPECT_THAT(std::string(unbook.input.view()),
              AllOf(HasSubstr("child_failed"), HasSubstr(R"("output":{"booking":1})")));
  complete(unbook);
  EXPECT_EQ(status(run_no(1)), RunStatus::failed);
}

TEST_F(FamilyCompensating, of_a_child_is_waited_for_by_its_parent) {
  core_->add(definition_of(R"([{"name":"pack","compensate":"unpack"},
                               {"name":"send","after":["pack"]}])",
                           "careful"));
  core_->settle();
  start(R"([{"name":"ship","child":"careful"}])");
  complete(take("pack"));
  fail(take("send"));
  EXPECT_EQ(status(child()), RunStatus::compensating);
  EXPECT_EQ(status(run_no(1)), RunStatus::running);
  complete(take("unpack"));
  EXPECT_EQ(status(run_no(1)), RunStatus::failed);
}

TEST_F(Family, withdrawn_items_are_not_assigned) {
  start(R"([{"name":"each","for_each":[1,2,3]},{"name":"sorry"}])",
        R"([{"from":"each","to":"complete"},{"from":"each","on":"error","to":"sorry"}])");
  const Assignment held = take("each");
  fail(take("each"));
  const auto idle = core_->worker({"each"});
  core_->settle();
  EXPECT_EQ(idle->code(), "none yet");
  const auto late = core_->complete(proof_of(held), completion());
  core_->settle();
  EXPECT_EQ(late->code(), "stale_claim");
  complete(take("sorry"));
  EXPECT_EQ(status(run_no(1)), RunStatus::completed);
}

TEST_F(Family, a_parent_with_an_unknown_definition_does_not_prevent_its_child_from_ending) {
  const auto journal = open_memory_journal(disk_);
  Scribe parent(*journal, 1, definition_of(R"([{"name":"ship","child":"box"}])", "foreign"));
  StartRun command = start_of(1, parent.definition);
  // This writer knew the child, but did not store the parent's definition.
  class KnowsBox final : public Surroundings {
   public:
    [[nodiscard]] std::shared_ptr<const Definition> current(std::string_view) const override {
      return definition_of(R"([{"name":"pack"}])", "box");
    }
    [[nodiscard]] bool is_claimed(std::string_view) const override { return false; }
  } around;
  parent.record(must(decide_start(parent.run, command, around, parent.now)));
  core_->core.check_for_changes();
  core_->settle();
  complete(take("pack"));
  EXPECT_EQ(status(child()), RunStatus::completed);
  EXPECT_EQ(status(run_no(1)), RunStatus::running);
}

}  // namespace
}  // namespace holdfast::engine_family_test

// Writes the journal that tests/compat keeps: every kind of fact at least once, written by an
// engine and by other writers, with unfinished and invalid parts. The same bytes every time.
#pragma once

#include <memory>
#include <string>

#include "tests/support/engine_story_steps.h"
#include "tests/support/engine_story_waits.h"
#include "tests/support/engine_support.h"

namespace holdfast {

class EngineStory {
 public:
  explicit EngineStory(std::shared_ptr<MemoryDisk> disk)
      : disk_(std::move(disk)), journal_(open_memory_journal(disk_)) {}

  void write() {
    by_an_engine();
    StepsStory(disk_).write();
    must(journal_->catch_up());
    an_order();
    a_wait_that_times_out();
    a_graph_that_grows();
    a_run_that_continues();
    a_run_that_does_not();
    a_run_that_migrates();
    runs_that_end_badly();
    invalid_facts();
    a_run_that_compensates_twice();
  }

 private:
  // Batches over several threads; the second step is claimed and never reported.
  void by_an_engine() {
    ManualClock clock{kStart};
    TestCore core(disk_, clock);
    core.start(start_of(1, definition_of(kTwoSteps, "pair")));
    const auto first = core.worker();
    core.settle();
    clock.advance_ms(10'000);
    core.settle();  // sends a heartbeat
    core.core.drop(first->assignment().claim_id);
    core.complete(proof_of(first->assignment()), completion(R"({"a":1})"));
    core.worker();
    core.settle();
  }

  void an_order() {
    Scribe order(*journal_, 2, definition_of(R"([
        {"name":"charge","handler":"card","lease_ms":60000,
         "retry":{"max_attempts":2,"delay_ms":10}},
        {"name":"ship","after":["charge"]},
        {"name":"pay","after":["ship"]}])"));
    StartRun command = start_of(2, order.definition);
    command.input = story_json(R"({"order":7,"text":"äöü 🐙 \\ \""})");
    command.search_attributes = story_json(R"({"customer":"c-3"})");
    command.source.actor = "ann";
    command.source.metadata = story_json(R"({"token":"t"})");
    begin(order, command);
    order.schedule("charge");
    const SharedText first = order.run.latest("charge")->plan.runnable_key;
    order.emit(DispatchFact(must(decide_wakeup(order.queue, first.view(), order.now))));
    order.claim("charge");
    auto beat = order.of_claim<AttemptHeartbeat>("charge", "dead");
    beat.lease_until = after(order.now, 90'000);
    order.emit(DispatchFact(beat));
    order.fail("charge", Scribe::Again::yes);
    const Attempt& failed = *order.queue.find(first.view());
    const PlannedRetry retry{runnable_key(run_no(2), "charge", 2), failed.idempotency_key,
                             after(order.now, 10)};
    record_each(order, decide_after_failure(order.run, failed, failed.outcome->error, retry,
                                            nothing_around(), order.now));
    order.now = after(order.now, 20);
    order.claim("charge");
    order.complete("charge", R"({"receipt":"r-9"})");
    order.apply("charge");
    with_a_child(order);
    story_pause(order, "ship", ManualKind::approval, "over the limit");
    ResolveStep resolve;
    resolve.action = ManualAction::approved;
    resolve.source.actor = "ann";
    record_each(order, decide_resolve(order.run, resolve, nothing_around(), order.now));
    story_wait(order, "pay");
    SendEvent event;
    event.event = "paid";
    event.correlation = "order-7";
    event.payload = story_json(R"({"sum":30})");
    event.source.idempotency_key = "bank-55";
    record_each(order, decide_receive_event(order.run, event, nothing_around(), order.now));
    record_each(order, decide_update_attributes(order.run, story_json(R"({"customer":null,"n":1})"),
                                                "move-1", order.now));
    record_each(order, decide_archive(order.run, "old", order.now));
    record_each(order, decide_unarchive(order.run, order.now));
  }
  // The child is recorded and was never scheduled.
  void with_a_child(Scribe& order) {
    order.schedule("ship");
    order.claim("ship");
    StartChild start;
    const Runnable& plan = order.run.latest("ship")->plan;
    start.origin = {plan.runnable_key, plan.step, plan.attempt_number};
    start.definition = definition_of(kOneStep, "parcel");
    start.child_key = "box-1";
    start.input = story_json(R"({"weight":3})");
    record_each(order, decide_start_child(order.run, start, order.now));
    const ChildRunStarted& link = order.run.children().begin()->second;
    Scribe(*journal_, 3, start.definition).register_definition();
    start_other(start_of_child(link, start.definition));
    order.complete("ship");
  }
  // The run would continue with the next step, but has none.
  void a_wait_that_times_out() {
    Scribe run(*journal_, 4, definition_of(kOneStep, "patient"));
    begin(run, start_of(4, run.definition));
    story_wait(run, "a");
    run.now = after(run.now, 1000);
    story_time_out(run);
    run.emit(RunFact(RunTerminal{run_no(4), TerminalStatus::completed, {}, {}, {}, {}}));
  }

  // Left with a scheduled node.
  void a_graph_that_grows() {
    Scribe run(*journal_, 5, definition_of(kOneStep, "growing"));
    begin(run, start_of(5, run.definition));
    const Runnable& plan = run.run.latest("a")->plan;
    const Origin origin{plan.runnable_key, plan.step, plan.attempt_number};
    MutateGraph mutation;
    mutation.mutation_id = "m-1";
    mutation.expected_version = run.run.graph().version;
    mutation.origin = origin;
    mutation.additions.resize(3);
    mutation.additions[0] = {GraphItem::node, "gift", "wrap", story_json("{}"), {}, {}, {}};
    mutation.additions[1] = {GraphItem::node, "card", "write", {}, {}, {}, {}};
    mutation.additions[2] = {GraphItem::edge, "e1", {}, {}, {}, "gift", "card"};
    record_each(run, decide_mutate_graph(run.run, mutation, run.now));
    run.schedule("gift");
    run.work("a");
  }

  void a_run_that_continues() {
    Scribe run(*journal_, 6, definition_of(kOneStep, "rolling"));
    begin(run, start_of(6, run.definition));
    run.schedule("a");
    run.claim("a");
    run.complete("a");
    const ContinueRun command{"2026-01", story_json(R"({"page":2})")};
    const Attempt& source = attempt(run, "a");
    const RunFacts facts = must(decide_continue(run.run, source, command, run.now));
    record_each(run, facts);
    start_other(start_of_successor(*run.run.continuation(), *run.run.started(), run.definition));
  }
  // A worker has claimed the step and died.
  void a_run_that_does_not() {
    Scribe run(*journal_, 7, definition_of(kOneStep, "staying"));
    begin(run, start_of(7, run.definition));
    run.schedule("a");
    run.claim("a");
  }

  // Left paused.
  void a_run_that_migrates() {
    Scribe run(*journal_, 8, definition_of(kTwoSteps, "moving"));
    begin(run, start_of(8, run.definition));
    run.schedule("a");
    run.claim("a");
    run.complete("a");
    story_pause(run, "a", ManualKind::pause, "");
    const auto target = definition_of(kOneStep, "moving");
    Scribe(*journal_, 8, target).register_definition();
    RunDefinitionMigrated fact;
    fact.run_id = run_no(8);
    fact.migration_key = "to-2";
    fact.source_version = run.definition->version();
    fact.source_fingerprint = run.definition->fingerprint();
    fact.target_version = "2";
    fact.target_fingerprint = target->fingerprint();
    fact.context = story_json(R"({"moved":true})");
    fact.manual_state = story_json(R"({"step":"a","kind":"pause","paused_at":1700000000000})");
    run.emit(RunFact(fact));
  }

  // One run fails, one is cancelled, one has a result that was not applied.
  void runs_that_end_badly() {
    const auto definition = definition_of(kOneStep, "short");
    Scribe fails(*journal_, 9, definition);
    begin(fails, start_of(9, definition));
    fails.schedule("a");
    fails.claim("a");
    fails.fail("a", Scribe::Again::no);
    const Attempt& failed = attempt(fails, "a");
    record_each(fails, decide_after_failure(fails.run, failed, failed.outcome->error, std::nullopt,
                                            nothing_around(), fails.now));
    Scribe cancelled(*journal_, 10, definition);
    begin(cancelled, start_of(10, definition));
    cancelled.schedule("a");
    record_each(cancelled, decide_cancel(cancelled.run, {}, OnCancel::as_defined, nothing_around(),
                                         cancelled.now));
    Scribe unapplied(*journal_, 11, definition);
    begin(unapplied, start_of(11, definition));
    unapplied.schedule("a");
    unapplied.claim("a");
    unapplied.complete("a", R"({"late":true})");
  }

  // Facts that break rules: all of them become anomalies. The run itself has ended.
  void invalid_facts() {
    Scribe run(*journal_, 12, definition_of(kOneStep, "troubled"));
    begin(run, start_of(12, run.definition));
    run.schedule("a");
    AttemptScheduled other = intent_of(run.run.latest("a")->plan, "troubled");
    other.input = story_json(R"({"other":true})");
    run.emit(DispatchFact(other));
    run.claim("a");
    run.claim("a", 30'000, "thief");
    run.complete("a", "{}", "thief");
    RunnableApplied unplanned;
    unplanned.run_id = run_no(12);
    unplanned.runnable_key = "never";
    run.emit(RunFact(unplanned));
    ManualStepResolved stale;
    stale.run_id = run_no(12);
    stale.step = "a";
    run.emit(RunFact(stale));
    run.complete("a");
    run.apply("a");
    run.complete("a", R"({"after":"the end"})");
    const std::string future = R"({"run_id":")" + to_string(run_no(12)) + R"("})";
    run.append(run_thread(run_no(12)), entry("from_the_future", future, run.now.value));
    run.append(dispatch_thread(kDefaultQueue), entry("from_the_future", future, run.now.value));
  }

  // Two contradicting decisions to compensate: the first counts. Its only step is left open.
  void a_run_that_compensates_twice() {
    Scribe run(*journal_, 13, definition_of(kOneStep, "undecided"));
    begin(run, start_of(13, run.definition));
    run.schedule("a");
    const Payload error = story_json(R"({"code":"declined"})");
    run.emit(RunFact(CompensationStarted{run_no(13), TerminalStatus::failed, error, {}}));
    run.emit(RunFact(CompensationStarted{run_no(13), TerminalStatus::cancelled, {}, {}}));
  }

  // The start as an engine stores it, but in separate commits and without attempts.
  void begin(Scribe& run, const StartRun& command) {
    run.register_definition();
    record_each(run, decide_start(run.run, command, nothing_around(), run.now));
    const SharedText workflow = run.definition->workflow();
    list(command.run_id, workflow, run.now);
    run.emit(DispatchFact(RunQueued{command.run_id, kDefaultQueue}));
  }
  // A run with a derived id.
  void start_other(const StartRun& command) {
    RunProjection run(command.run_id);
    for (const RunFact& fact : must(decide_start(run, command, nothing_around(), kStart))) {
      must(journal_->append(run_thread(command.run_id), {must(to_entry(fact, kStart))}));
    }
    list(command.run_id, command.definition->workflow(), kStart);
  }
  void list(const RunId& run, const SharedText& workflow, TimeMs at) {
    const SharedText queue(kDefaultQueue);
    must(journal_->append(index_thread(workflow.view()),
                          {must(to_entry(RunIndexed{run, workflow, queue}, at))}));
    must(journal_->append(catalog_thread(),
                          {must(to_entry(RunCataloged{run, workflow, queue}, at))}));
  }
  static void record_each(Scribe& run, const Result<RunFacts>& facts) {
    for (const RunFact& fact : must(facts)) {
      run.record({fact});
    }
  }
  static const Attempt& attempt(const Scribe& run, std::string_view step) {
    return *run.queue.find(run.run.latest(step)->plan.runnable_key.view());
  }

  std::shared_ptr<MemoryDisk> disk_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace holdfast

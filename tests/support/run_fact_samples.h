// Valid facts of a run, one function each, for tests to use or to invalidate. They belong to run 1.
#pragma once

#include "runs/run/run_projection.h"
#include "tests/support/dispatch_fact_samples.h"

namespace holdfast {

template <typename Fact>
Fact of_run() {
  Fact fact;
  fact.run_id = run_no(1);
  return fact;
}

inline RunSignalReceived run_signal(SignalType type = SignalType::start_run) {
  auto fact = of_run<RunSignalReceived>();
  fact.signal_type = type;
  fact.payload = json("{}");
  fact.metadata = json("{}");
  return fact;
}

inline RunStarted run_started(std::string_view input = R"({"order":7})") {
  auto fact = of_run<RunStarted>();
  fact.workflow = "order";
  fact.trigger = "api";
  fact.input = json(input);
  fact.definition_version = "1";
  fact.definition_fingerprint = "f1";
  return fact;
}

inline Runnable runnable(std::string_view step, std::uint32_t attempt = 1) {
  Runnable plan;
  plan.run_id = run_no(1);
  plan.runnable_key = std::string(step) + "#" + std::to_string(attempt);
  plan.idempotency_key = plan.runnable_key;
  plan.attempt_number = attempt;
  plan.queue = kDefaultQueue;
  plan.step = step;
  plan.input = json("{}");
  plan.visible_at = ms(10);
  return plan;
}

// The timer of a wait at that step.
inline Runnable timer(std::string_view step) {
  Runnable plan = runnable(step);
  plan.runnable_key = std::string(step) + "#1:timeout";
  plan.idempotency_key = plan.runnable_key;
  plan.event_wait_timeout = json(R"({"after":5})");
  return plan;
}

inline RunnablesPlanned planned(std::vector<Runnable> runnables) {
  return {run_no(1), std::move(runnables)};
}

inline RunnableApplied applied_run(std::string_view key, std::string_view result = "{}",
                                   std::string_view opts = "") {
  auto fact = of_run<RunnableApplied>();
  fact.runnable_key = key;
  fact.result = json(result);
  fact.execution_opts = json(opts);
  return fact;
}

inline Origin origin(std::string_view step = "a") {
  return {SharedText(std::string(step) + "#1"), SharedText(step), 1};
}

inline ChildRunStarted child_started(int number = 5) {
  auto fact = of_run<ChildRunStarted>();
  fact.child_run_id = run_no(number);
  fact.child_workflow = "parcel";
  fact.child_trigger = "parent";
  fact.child_key = "k";
  fact.origin = origin();
  return fact;
}

inline ManualStepPaused paused(std::string_view step, ManualKind kind = ManualKind::pause) {
  auto fact = of_run<ManualStepPaused>();
  fact.step = step;
  fact.kind = kind;
  return fact;
}

// By the first attempt at the step.
inline ManualStepPaused parked(std::string_view step) {
  ManualStepPaused fact = paused(step, ManualKind::parked);
  fact.runnable_key = std::string(step) + "#1";
  fact.queue = "default";
  fact.error = json(R"({"code":"declined"})");
  return fact;
}

inline ManualStepResolved resolved(std::string_view step, std::string_view result = "{}") {
  auto fact = of_run<ManualStepResolved>();
  fact.step = step;
  fact.result = json(result);
  return fact;
}

inline RunTerminal terminal(TerminalStatus status = TerminalStatus::completed,
                            std::string_view error = "") {
  auto fact = of_run<RunTerminal>();
  fact.status = status;
  fact.error = json(error);
  return fact;
}

inline GraphAddition node(std::string_view id) {
  GraphAddition addition;
  addition.id = id;
  addition.handler = "h";
  return addition;
}

inline GraphAddition edge(std::string_view id, std::string_view from, std::string_view to) {
  GraphAddition addition;
  addition.kind = GraphItem::edge;
  addition.id = id;
  addition.from = from;
  addition.to = to;
  return addition;
}

inline DynamicGraphMutated mutated(std::string_view id, std::uint64_t version,
                                   std::vector<GraphAddition> additions,
                                   std::vector<GraphRemoval> removals = {}) {
  auto fact = of_run<DynamicGraphMutated>();
  fact.mutation_id = id;
  fact.expected_version = version;
  fact.result_version = version + 1;
  fact.origin = GraphOrigin{origin().runnable_key, origin().step, origin().attempt, {}, {}};
  fact.additions = std::move(additions);
  fact.removals = std::move(removals);
  return fact;
}

inline RunContinuationRequested continuation_requested(std::string_view key = "next") {
  auto fact = of_run<RunContinuationRequested>();
  fact.successor_run_id = run_no(9);
  fact.continuation_key = key;
  fact.workflow = "order";
  fact.trigger = "api";
  fact.input = json("{}");
  fact.definition = "current";
  fact.definition_fingerprint = "f1";
  return fact;
}

inline RunContinuedFrom continued_from(std::string_view key = "next") {
  return {run_no(1), run_no(8), SharedText(key)};
}

inline ExternalEventWaitOpened wait_opened(std::string_view step = "a") {
  auto fact = of_run<ExternalEventWaitOpened>();
  fact.wait_id = std::string(step) + "#1";
  fact.step = step;
  fact.event = "paid";
  fact.correlation = "7";
  fact.opened_at = ms(20);
  fact.timeout =
      WaitTimeout{fact.wait_id, fact.wait_id.str() + ":timeout", "paid", "7", "next", 5, ms(25)};
  return fact;
}

inline ExternalEventReceived event_received(std::string_view step = "a",
                                            std::string_view payload = R"({"sum":1})") {
  auto fact = of_run<ExternalEventReceived>();
  fact.wait_id = std::string(step) + "#1";
  fact.event = "paid";
  fact.correlation = "7";
  fact.payload = json(payload);
  fact.idempotency_key = "once";
  return fact;
}

inline ExternalEventWaitTimeoutSelected timeout_selected(std::string_view step = "a") {
  const ExternalEventWaitOpened opened = wait_opened(step);
  auto fact = of_run<ExternalEventWaitTimeoutSelected>();
  fact.wait_id = opened.wait_id;
  fact.timeout_runnable_key = opened.timeout->timeout_runnable_key;
  fact.step = opened.step;
  fact.event = opened.event;
  fact.correlation = opened.correlation;
  fact.target = opened.timeout->target;
  fact.selected_at = ms(26);
  return fact;
}

inline ExternalEventWaitResolved wait_resolved(WaitAction action, std::string_view step = "a",
                                               std::string_view result = R"({"sum":1})") {
  const ExternalEventWaitOpened opened = wait_opened(step);
  auto fact = of_run<ExternalEventWaitResolved>();
  fact.wait_id = opened.wait_id;
  fact.step = opened.step;
  fact.event = opened.event;
  fact.correlation = opened.correlation;
  fact.action = action;
  fact.result = json(result);
  return fact;
}

inline SearchAttributesUpdated attributes_updated(std::string_view changes, std::string_view key) {
  return {run_no(1), json(changes), to_hex(sha256(changes)), SharedText(key)};
}

inline RunDefinitionMigrated migrated(std::string_view key = "m1") {
  auto fact = of_run<RunDefinitionMigrated>();
  fact.migration_key = key;
  fact.source_version = "1";
  fact.source_fingerprint = "f1";
  fact.target_version = "2";
  fact.target_fingerprint = "f2";
  fact.context = json(R"({"moved":true})");
  fact.manual_state = json(R"({"step":"b","kind":"approval","paused_at":5})");
  return fact;
}

inline RunnablesWithdrawn withdrawn(std::vector<SharedText> keys) {
  return {run_no(1), std::move(keys), "the run is compensating"};
}

inline ExternalEventBuffered event_buffered(std::string_view key = "early") {
  auto fact = of_run<ExternalEventBuffered>();
  fact.event = "paid";
  fact.correlation = "7";
  fact.payload = json(R"({"sum":1})");
  fact.idempotency_key = key;
  return fact;
}

inline CompensationStarted compensation_started(TerminalStatus outcome = TerminalStatus::failed) {
  return {run_no(1), outcome, json(R"({"code":"x"})"), {}};
}

inline StepsAdopted steps_adopted(std::vector<SharedText> done = {"a"}) {
  return {run_no(1), run_no(3), "b", {}, std::move(done), json(R"({"kept":1})")};
}

inline RunArchived archived(std::string_view reason = "old") {
  return {run_no(1), SharedText(reason)};
}
inline RunUnarchived unarchived() { return {run_no(1)}; }

// Of a run that attempt a#1 failed.
inline RunTerminal failed_by_attempt() {
  RunTerminal fact = terminal(TerminalStatus::failed, R"({"code":"x"})");
  fact.exhausted = ExhaustedAttempt{"a#1", "a", "default"};
  return fact;
}
inline DeadLetterResolved letter_resolved(DeadLetterEnd action = DeadLetterEnd::redriven) {
  return {run_no(1), "a#1", action, action == DeadLetterEnd::redriven ? run_no(5) : RunId{},
          "cli",     "ann", "again"};
}

// Facts with every field set; together one of each kind, in the order of the variant.
inline std::vector<RunFact> full_common_facts() {
  RunSignalReceived signal = run_signal(SignalType::approve_run);
  signal.source = "api";
  signal.signal_id = "s";
  signal.idempotency_key = "i";
  signal.actor = "ann";
  signal.comment = "fine";
  signal.trace = json("[1]");
  RunStarted started = run_started();
  started.queue = "slow";
  started.context = json(R"({"parent":1})");
  started.replayed_from_run_id = run_no(3);
  started.definition_source = "runtime_spec";
  started.definition_spec = json(R"({"workflow":"order"})");
  started.search_attributes = json(R"({"customer":"c"})");
  started.trace = json("[2]");
  Runnable plan = timer("a");
  plan.recovery = json(R"({"max_attempts":3})");
  plan.handler = "h";
  plan.policy = {{500}, {600, 700}, {3, 800}};
  plan.path = "first";
  plan.timer = json(R"({"code":"run_timeout"})");
  plan.deferred = Deferred{"later", "a#0", ms(1)};
  plan.graph_mutation = GraphIntent{"m", "n", "f"};
  plan.dynamic_work = json("[3]");
  plan.deadline = json("[4]");
  plan.trace = json("[6]");
  RunnableApplied result = applied_run("a#1", R"({"x":1})", R"({"schedule_in_ms":5})");
  result.output_key = "paid";
  result.transition = json(R"({"to":"b"})");
  result.applied_at = ms(30);
  result.trace = json("[8]");
  return {signal, started, planned({plan}), result};
}

inline std::vector<RunFact> full_boundary_facts() {
  ChildRunStarted child = child_started();
  child.input = json("{}");
  child.child_definition_fingerprint = "f3";
  child.child_queue = "slow";
  child.awaited = true;
  child.on_parent_close = "cancel";
  child.metadata = json("{}");
  child.started_at = ms(31);
  child.trace = json("[9]");
  ManualStepPaused pause = paused("a", ManualKind::approval);
  pause.metadata = json("{}");
  pause.paused_at = ms(32);
  pause.reason = "check";
  pause.deadline = json("99");
  pause.trace = json("[10]");
  ManualStepResolved resolution = resolved("a");
  resolution.action = ManualAction::rejected;
  resolution.metadata = json("{}");
  resolution.trace = json("[11]");
  RunTerminal end = terminal(TerminalStatus::failed, R"({"code":"x"})");
  end.result = json(R"({"r":1})");
  end.trace = json("[12]");
  end.exhausted = failed_by_attempt().exhausted;
  return {child, pause, resolution, end};
}

inline std::vector<RunFact> full_lifecycle_facts() {
  GraphAddition full_node = node("n");
  full_node.input = json("{}");
  full_node.queue = "slow";
  full_node.retry = RetryPolicy{{3, 50}, {}};
  DynamicGraphMutated mutation =
      mutated("m", 0, {full_node, edge("e", "a", "n")}, {{GraphItem::edge, "old"}});
  mutation.runnable_intent_fingerprints = {{"n", "f"}};
  RunContinuationRequested request = continuation_requested();
  request.definition_version = "1";
  ExternalEventWaitOpened opened = wait_opened();
  opened.others = {{"refused", "7"}};
  opened.result = json("{}");
  opened.trace = json("[14]");
  ExternalEventReceived event = event_received();
  event.trace = json("[15]");
  ExternalEventWaitTimeoutSelected selected = timeout_selected();
  selected.trace = json("[16]");
  ExternalEventWaitResolved closed = wait_resolved(WaitAction::timed_out);
  closed.transition = json("{}");
  closed.timeout_target = "next";
  closed.trace = json("[17]");
  ExternalEventBuffered early = event_buffered();
  early.trace = json("[18]");
  StepsAdopted adopted = steps_adopted();
  adopted.path = "a";
  CompensationStarted compensation = compensation_started();
  compensation.exhausted = failed_by_attempt().exhausted;
  RunDefinitionMigrated migration = migrated();
  migration.source_manual_step = "a";
  migration.target_manual_step = "b";
  return {mutation,  request,      continued_from(), opened,
          event,     selected,     closed,           attributes_updated(R"({"a":1})", "i"),
          migration, archived(),   unarchived(),     withdrawn({"a#1"}),
          early,     compensation, adopted,          letter_resolved()};
}

inline std::vector<RunFact> every_run_fact() {
  std::vector<RunFact> facts = full_common_facts();
  for (const auto& more : {full_boundary_facts(), full_lifecycle_facts()}) {
    facts.insert(facts.end(), more.begin(), more.end());
  }
  return facts;
}

// The names of the broken rules, oldest first.
inline std::vector<std::string> reasons(const RunProjection& run) {
  std::vector<std::string> names;
  for (const Anomaly& anomaly : run.anomalies()) {
    names.push_back(anomaly.reason.str());
  }
  return names;
}

// The encoded projection without its revision and anomalies, which come last in its bytes.
inline std::string known(const RunProjection& run) {
  const std::string bytes = run.encode();
  return bytes.substr(0, bytes.rfind(R"(,"revision":)"));
}

inline void evolve_all(RunProjection& run, const std::vector<RunFact>& facts) {
  std::int64_t at = 100;
  for (const RunFact& fact : facts) {
    run.evolve(ms(at), fact);
    at += 10;
  }
}

}  // namespace holdfast

// Random runs of random small graphs. Whatever is decided, the projection accepts; every step is
// done once, after all it waits for; a run ends once, and after that nothing happens any more.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "tests/support/run_fixture.h"

namespace holdfast {
namespace {

// The whole range from the first case on.
int below(int limit) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, limit)); }
bool one_in(int chances) { return below(chances) == 0; }

template <typename T>
T any_of(const std::vector<T>& values) {
  return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
}

// Each step may wait for any of those before it.
std::string random_steps() {
  const int count = 1 + below(6);
  std::string steps = "[";
  for (int i = 0; i < count; ++i) {
    std::string after;
    for (int j = 0; j < i; ++j) {
      after += one_in(2) ? (after.empty() ? "\"s" : ",\"s") + std::to_string(j) + '"' : "";
    }
    steps += (i == 0 ? "" : ",") + std::string(R"({"name":"s)") + std::to_string(i) +
             R"(","retry":{"max_attempts":3,"delay_ms":10},"after":[)" + after + "]}";
  }
  return steps + "]";
}

// Applies decisions to a run and watches what happens to it.
class Watched {
 public:
  explicit Watched(const std::string& steps) : test(steps) {
    take(decide_start(*test.run, test.start_command(), test.now));
    test.run->attach(test.definition);
    RC_ASSERT(again(decide_start(*test.run, test.start_command(), test.now)));
  }

  // True when something was decided.
  bool take(const Result<RunFacts>& decided) {
    if (!decided.ok() || decided.value().empty()) {
      return false;
    }
    for (const RunFact& fact : decided.value()) {
      const auto entry = to_entry(fact, test.now);
      RC_ASSERT(entry.ok());
      watch(fact);
      test.run->evolve(test.now, fact);
      for (const Anomaly& anomaly : test.run->anomalies()) {
        RC_FAIL(anomaly.entry_type.str() + ": " + anomaly.reason.str());
      }
    }
    test.now.value += below(20);
    return true;
  }

  // Steps and nodes with a runnable that is not applied.
  [[nodiscard]] std::vector<std::string> open() const {
    std::vector<std::string> names;
    for (const PlannedRunnable* planned : test.run->runnables()) {
      if (!planned->applied && test.run->latest(planned->plan.step.view()) == planned) {
        names.push_back(planned->plan.step.str());
      }
    }
    return names;
  }
  [[nodiscard]] bool ended() const { return test.run->is_terminal(); }

  TestRun test;
  std::map<std::string, int> done;  // how often each step or node was done
  int ends = 0;
  int old_facts = 0;  // facts of the run itself since it ended

 private:
  static bool again(const Result<RunFacts>& decided) {
    return decided.ok() && decided.value().empty();
  }

  void watch(const RunFact& fact) {
    const bool outlives = std::holds_alternative<SearchAttributesUpdated>(fact) ||
                          std::holds_alternative<RunArchived>(fact) ||
                          std::holds_alternative<RunUnarchived>(fact);
    old_facts += ended() && !outlives ? 1 : 0;
    if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
      for (const Runnable& runnable : planned->runnables) {
        check_planned(runnable);
      }
    } else if (const auto* applied = std::get_if<RunnableApplied>(&fact)) {
      const Runnable& plan = test.run->find(applied->runnable_key.view())->plan;
      const bool deferred = applied->execution_opts.view().find("defer") != std::string_view::npos;
      done[plan.step.str()] += deferred || plan.is_timer() ? 0 : 1;
    } else if (const auto* paused = std::get_if<ManualStepPaused>(&fact)) {
      --done[paused->step.str()];
    } else if (const auto* opened = std::get_if<ExternalEventWaitOpened>(&fact)) {
      --done[opened->step.str()];
    } else if (const auto* resolved = std::get_if<ManualStepResolved>(&fact)) {
      ++done[resolved->step.str()];
    } else if (const auto* received = std::get_if<ExternalEventWaitResolved>(&fact)) {
      ++done[received->step.str()];
    } else if (std::holds_alternative<RunTerminal>(fact)) {
      ++ends;
    }
  }

  // Nothing is planned before all it waits for is done, or twice under one key.
  void check_planned(const Runnable& runnable) {
    RC_ASSERT(test.run->find(runnable.runnable_key.view()) == nullptr);
    RC_ASSERT(runnable.visible_at >= TimeMs{1000});
    const auto index = test.definition->find(runnable.step.view());
    if (index.has_value()) {
      for (const StepIndex before : test.definition->steps()[*index].after) {
        RC_ASSERT(done[test.definition->steps()[before].name.str()] == 1);
      }
      return;
    }
    for (const auto& [id, item] : test.run->rare().graph.active) {
      if (item.kind == GraphItem::edge && item.to == runnable.step) {
        RC_ASSERT(done[item.from.str()] == 1);
      }
    }
  }
};

Attempt completed_somehow(const Watched& world, const std::string& step) {
  const std::string result = "{\"" + step + "\":" + std::to_string(below(5)) + "}";
  const std::vector<std::string> opts = {"", "", R"({"schedule_in_ms":15})",
                                         R"({"defer":{"schedule_in_ms":5}})"};
  return world.test.completed(step, result, any_of(opts));
}

SendEvent random_event() {
  SendEvent command;
  command.event = "paid";
  command.correlation = "c";
  command.payload = json(R"({"paid":1})");
  command.source.idempotency_key = "k" + std::to_string(below(40));
  return command;
}

OpenWait random_wait(std::string_view target) {
  OpenWait command;
  command.event = "paid";
  command.correlation = "c";
  if (one_in(2)) {
    command.timeout_ms = 1 + below(30);
    command.timeout_target = target;
  }
  return command;
}

bool resolve(Watched& world, ManualAction action) {
  ResolveStep command;
  command.action = action;
  command.source.actor = "ann";
  return world.take(decide_resolve(*world.test.run, command, world.test.now));
}

// Ends whatever the run waits for.
void release(Watched& world) {
  if (!world.test.run->manual_state().has_value()) {
    return;
  }
  const std::string kind = world.test.run->manual_state()->kind.str();
  if (kind == "pause") {
    RC_ASSERT(resolve(world, ManualAction::resumed));
  } else if (kind == "approval") {
    RC_ASSERT(resolve(world, ManualAction::approved));
  } else {
    for (const auto& [id, wait] : world.test.run->rare().waits) {
      if (wait.status == WaitStatus::waiting && one_in(2) &&
          world.take(decide_wait_timeout(*world.test.run, std::string(id), world.test.now))) {
        return;
      }
    }
    SendEvent command = random_event();
    command.source.idempotency_key = "r" + std::to_string(world.test.run->receipts().size());
    RC_ASSERT(world.take(decide_receive_event(*world.test.run, command, world.test.now)));
  }
}

// One step of the way to a good end.
void progress(Watched& world) {
  RunProjection& run = *world.test.run;
  const TimeMs now = world.test.now;
  if (run.manual_state().has_value() && (one_in(3) || world.open().empty())) {
    release(world);
    return;
  }
  const std::string step = any_of(world.open());
  const Attempt attempt = completed_somehow(world, step);
  const Attempt failed = world.test.failed(step);
  switch (below(6)) {
    case 0: {
      const auto retry = plan_retry(run, failed, {}, now);
      if (retry.has_value()) {
        RC_ASSERT(world.take(decide_after_failure(run, failed, failed.outcome->error, retry, now)));
        RC_ASSERT(!world.take(
            decide_after_failure(run, failed, failed.outcome->error, retry, world.test.now)));
      }
      return;
    }
    case 1: {
      PauseStep pause;
      pause.kind = one_in(2) ? ManualKind::pause : ManualKind::approval;
      world.take(decide_pause(run, world.test.completed(step), pause, now));
      return;
    }
    case 2:
      world.take(decide_open_wait(run, world.test.completed(step), random_wait(""), now));
      return;
    default:
      RC_ASSERT(world.take(decide_apply(run, attempt, now)));
      RC_ASSERT(!world.take(decide_apply(run, attempt, world.test.now)));
  }
}

MutateGraph random_mutation(const Watched& world) {
  const auto open = world.open();
  const std::uint64_t version = world.test.run->rare().graph.version;
  MutateGraph command;
  command.mutation_id = "m" + std::to_string(version);
  command.expected_version = version;
  command.origin = world.test.origin(open.empty() ? "s0" : any_of(open));
  std::vector<std::string> ends = {"s0", "s1"};
  for (int i = 0; i <= below(3); ++i) {
    GraphAddition node;
    node.id = "n" + std::to_string(version) + "_" + std::to_string(i);
    node.handler = "work";
    GraphAddition edge;
    edge.kind = GraphItem::edge;
    edge.id = "e" + node.id.str();
    edge.from = any_of(ends);
    edge.to = node.id;
    ends.push_back(node.id.str());
    command.additions.push_back(node);
    if (one_in(2)) {
      command.additions.push_back(edge);
    }
  }
  for (const auto& [id, item] : world.test.run->rare().graph.active) {
    if (one_in(4)) {
      command.removals.push_back({item.kind, SharedText(id)});
    }
  }
  return command;
}

RC_GTEST_PROP(DecideProp, every_run_ends_completed_with_each_step_done_once, ()) {
  Watched world(random_steps());
  for (int i = 0; i < 500 && !world.ended(); ++i) {
    if (one_in(8)) {
      world.take(decide_mutate_graph(*world.test.run, random_mutation(world), world.test.now));
    }
    if (i < 60) {
      progress(world);
    } else if (world.test.run->manual_state().has_value()) {
      release(world);
    } else {
      RC_ASSERT(!world.open().empty());
      const std::string step = world.open().front();
      RC_ASSERT(
          world.take(decide_apply(*world.test.run, world.test.completed(step), world.test.now)));
    }
  }
  RC_ASSERT(world.test.run->status() == RunStatus::completed);
  RC_ASSERT(world.ends == 1);
  for (const Step& step : world.test.definition->steps()) {
    RC_ASSERT(world.done[step.name.str()] == 1);
  }
  for (const auto& [id, item] : world.test.run->rare().graph.active) {
    RC_ASSERT(item.kind == GraphItem::edge || world.done[id] == 1);
  }
  RC_ASSERT(world.open().empty());
}

Result<RunFacts> random_on_attempt(const Watched& world, const std::string& step, TimeMs now) {
  const RunProjection& run = *world.test.run;
  const std::vector<std::string_view> targets = {"", kNextTarget, kCompleteTarget, kFailTarget};
  const Attempt attempt = completed_somehow(world, step);
  const Attempt failed = world.test.failed(step);
  switch (below(7)) {
    case 0:
      return decide_after_failure(run, failed, failed.outcome->error,
                                  plan_retry(run, failed, {{}, !one_in(4), {}}, now), now);
    case 1: {
      PauseStep pause;
      pause.kind = one_in(2) ? ManualKind::pause : ManualKind::approval;
      return decide_pause(run, attempt, pause, now);
    }
    case 2:
      return decide_open_wait(run, attempt, random_wait(any_of(targets)), now);
    case 3:
      return decide_continue(run, attempt, {"k" + std::to_string(below(2)), {}}, now);
    case 4: {
      StartChild child;
      child.origin = world.test.origin(step);
      child.definition = world.test.definition;
      child.child_key = "c" + std::to_string(below(2));
      child.input = one_in(2) ? json(R"({"x":1})") : Payload();
      return decide_start_child(run, child, now);
    }
    default:
      return decide_apply(run, attempt, now);
  }
}

Result<RunFacts> random_on_run(const Watched& world, TimeMs now) {
  const RunProjection& run = *world.test.run;
  switch (below(8)) {
    case 0:
      return one_in(6) ? decide_cancel(run, {}, now) : RunFacts();
    case 1: {
      ResolveStep command;
      command.action = static_cast<ManualAction>(below(3));
      command.source.actor = "ann";
      command.source.idempotency_key = one_in(2) ? "" : "k" + std::to_string(below(9));
      return decide_resolve(run, command, now);
    }
    case 2:
      return decide_receive_event(run, random_event(), now);
    case 3:
      return run.rare().waits.empty()
                 ? RunFacts()
                 : decide_wait_timeout(run, run.rare().waits.rbegin()->first, now);
    case 4:
      return decide_update_attributes(run, json(one_in(2) ? R"({"a":1})" : R"({"a":null})"),
                                      "k" + std::to_string(below(5)), now);
    case 5:
      return one_in(2) ? decide_archive(run, "old", now) : decide_unarchive(run, now);
    case 6:
      return decide_continue(run, {"k" + std::to_string(below(2)), {}}, now);
    default:
      return decide_mutate_graph(run, random_mutation(world), now);
  }
}

RC_GTEST_PROP(DecideProp, whatever_is_decided_is_accepted_and_nothing_happens_after_the_end, ()) {
  Watched world(random_steps());
  const int count = below(80);
  for (int i = 0; i < count; ++i) {
    const TimeMs now = world.test.now;
    std::set<std::string> steps;
    for (const PlannedRunnable* planned : world.test.run->runnables()) {
      steps.insert(planned->plan.step.str());
    }
    const std::string step = any_of(std::vector<std::string>(steps.begin(), steps.end()));
    world.take(one_in(2) ? random_on_attempt(world, step, now) : random_on_run(world, now));
  }
  RC_ASSERT(world.ends == (world.ended() ? 1 : 0));
  RC_ASSERT(world.old_facts == 0);
  for (const auto& [step, times] : world.done) {
    RC_ASSERT(times == 0 || times == 1);
  }
  // It can always go on: somebody works, somebody is waited for, or it is over.
  RC_ASSERT(world.ended() || world.test.run->manual_state().has_value() || !world.open().empty());
}

}  // namespace
}  // namespace holdfast

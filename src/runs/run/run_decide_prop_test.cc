// Laws of the decisions under random workflows of all kinds of steps and random commands. The
// fixture checks the guarantees of the module for each decision.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_prop_test {
namespace {

// The whole range from the first case on.
int below(int limit) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, limit)); }
bool one_in(int chances) { return below(chances) == 0; }

template <typename T>
T any_of(const std::vector<T>& values) {
  return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
}

std::string random_kind() {
  static const std::vector<std::string> kinds = {
      R"("retry":{"max_attempts":3,"delay_ms":10},"compensate":"undo")",
      R"("retry":{"max_attempts":2},"compensate":{"handler":"undo","retry":{"max_attempts":2}})",
      R"("output":"out")",
      R"("log":"order {order}")",
      R"("wait":"20ms")",
      R"("pause":true)",
      R"("approval":true)",
      R"("await_event":{"event":"paid","correlation":"c"})",
      R"("await_event":{"any_of":["paid","gone"],"timeout":"20ms","on_timeout":"complete"})",
      R"("for_each":[1,2,3],"compensate":"undo","retry":{"max_attempts":2})",
      R"("for_each":{"items":[1,2,3,4],"concurrency":2,"on_error":"collect"})",
      R"("for_each":[])",
      R"("child":"parcel","retry":{"max_attempts":2,"delay_ms":5})",
      R"("child":{"workflow":"parcel","detached":true})",
      R"("child":"parcel","for_each":[{"a":1},{"a":2}])",
  };
  return one_in(3) ? R"("retry":{"max_attempts":3,"delay_ms":10})" : any_of(kinds);
}

// Each step may wait for any of those before it, and may have another one to stand in for it.
std::shared_ptr<const Definition> random_workflow() {
  const int count = 1 + below(6);
  std::string steps;
  std::string routes;
  for (int i = 0; i < count; ++i) {
    const std::string name = "s" + std::to_string(i);
    std::string after;
    for (int j = 0; j < i; ++j) {
      after += one_in(2) ? (after.empty() ? "\"s" : ",\"s") + std::to_string(j) + '"' : "";
    }
    steps += i == 0 ? "" : ",";
    steps += R"({"name":")" + name + R"(",)" + random_kind() + R"(,"after":[)" + after + "]}";
    if (one_in(4)) {
      steps += R"(,{"name":"f)" + name + R"("})";
      routes += (routes.empty() ? "" : ",") + std::string(R"({"from":")") + name +
                R"(","on":"error","to":"f)" + name + R"("})";
    }
  }
  // So that it is always a workflow with after.
  steps += R"(,{"name":"end","log":"end","after":["s0"]})";
  return flow("[" + steps + "]", "[" + routes + "]",
              one_in(4) ? R"("timeout":"1h","compensate_on_cancel":true)" : "");
}

// Lets decisions happen to a run and watches it.
class Watched {
 public:
  Watched() : test(random_workflow()) {
    test.around.workflows.emplace("parcel", definition_of(R"([{"name":"one"}])", "parcel"));
    take([this](RunProjection& run) {
      return decide_start(run, test.start_command(), test.around, test.now);
    });
  }

  // True when something was decided.
  bool take(const TestRun::Decision& decide) {
    const auto tried = test.dry_run(decide);
    if (!tried.ok() || tried.value().empty()) {
      return false;
    }
    const bool had_ended = test.run->is_terminal();
    for (const RunFact& fact : test.put(decide)) {
      watch(fact, had_ended);
    }
    RC_ASSERT(!::testing::Test::HasFailure());
    test.now.value += below(20);
    return true;
  }

  enum class Move : std::uint8_t { work, fire, resolve, child };
  // What can be done next to advance the run.
  [[nodiscard]] std::vector<std::pair<Move, std::string>> moves() const {
    std::vector<std::pair<Move, std::string>> found;
    for (const PlannedRunnable* planned : test.run->runnables()) {
      const Runnable& plan = planned->plan;
      if (planned->applied) {
        continue;
      }
      if (plan.handler.view() == kTimerHandler) {
        if (plan.step.view() != "__run__") {
          found.emplace_back(Move::fire, plan.runnable_key.str());
        }
      } else if (test.run->latest(plan.step.view()) != planned) {
        continue;  // it was tried again
      } else if (!plan.is_internal()) {
        found.emplace_back(Move::work, plan.step.str());
      } else if (test.run->boundaries().contains(plan.step)) {
        found.emplace_back(Move::resolve, plan.step.str());
      } else if (has_child(plan)) {
        found.emplace_back(Move::child, plan.runnable_key.str());
      }
    }
    return found;
  }

  TestRun test;
  std::map<std::string, int> done;  // how often each step, item or node was done
  std::set<std::string> keys;
  int ends = 0;
  int old_facts = 0;  // facts of the run itself since it ended

 private:
  [[nodiscard]] bool has_child(const Runnable& plan) const {
    for (const auto& [id, child] : test.run->children()) {
      if (child.origin.runnable_key == plan.runnable_key) {
        return true;
      }
    }
    return false;
  }

  void watch(const RunFact& fact, bool had_ended) {
    const bool outlives = std::holds_alternative<SearchAttributesUpdated>(fact) ||
                          std::holds_alternative<RunArchived>(fact) ||
                          std::holds_alternative<RunUnarchived>(fact);
    old_facts += had_ended && !outlives ? 1 : 0;
    if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
      for (const Runnable& runnable : planned->runnables) {
        check_planned(runnable);
      }
    } else if (const auto* applied = std::get_if<RunnableApplied>(&fact)) {
      const PlannedRunnable& planned_one = *test.run->find(applied->runnable_key.view());
      const bool deferred = execution_opts(applied->execution_opts).defer.has_value();
      done[planned_one.plan.step.str()] += deferred || planned_one.plan.is_timer() ? 0 : 1;
    }
    ends += std::holds_alternative<RunTerminal>(fact) ? 1 : 0;
  }

  // Nothing is planned before all it waits for is done, or twice under one key.
  void check_planned(const Runnable& runnable) {
    RC_ASSERT(keys.insert(runnable.runnable_key.str()).second);
    RC_ASSERT(runnable.visible_at >= TimeMs{1000});
    const auto index = test.definition->find(runnable.step.view());
    if (index.has_value()) {
      for (const StepIndex before : test.definition->steps()[*index].after) {
        RC_ASSERT(test.run->progress().done[before]);
      }
      return;
    }
    for (const auto& [id, item] : test.run->graph().active) {
      if (item.kind == GraphItem::edge && item.to == runnable.step) {
        RC_ASSERT(is_done(*test.run, item.from.view()));
      }
    }
  }
};

TestRun::Decision failing(const TestRun& test, const std::string& step) {
  const Attempt attempt = test.failed(step);
  const auto retry =
      plan_retry(*test.run, attempt, Failure{attempt.outcome->error, true, {}}, test.now);
  return [&test, attempt, retry](RunProjection& run) {
    return decide_after_failure(run, attempt, attempt.outcome->error, retry, test.around, test.now);
  };
}

TestRun::Decision completing(const TestRun& test, const std::string& step) {
  const std::string result = R"({"x":)" + std::to_string(below(5)) + "}";
  const std::vector<std::string> opts = {"", "", "", R"({"schedule_in_ms":15})",
                                         R"({"defer":{"schedule_in_ms":5}})"};
  return test.applying(test.completed(step, result, any_of(opts)));
}

TestRun::Decision ending_child(const TestRun& test, const std::string& key, bool well) {
  const ChildEnd end{
      run_no(9), well ? TerminalStatus::completed : TerminalStatus::failed, json("{}"), {}};
  return [&test, key, end](RunProjection& run) {
    return decide_child_ended(run, key, end, test.around, test.now);
  };
}

TestRun::Decision resolving(const TestRun& test, const std::string& step, bool well) {
  const BoundaryKind kind = test.run->boundaries().at(step).kind;
  if (kind == BoundaryKind::event_wait) {
    const auto key = "r" + std::to_string(test.run->receipts().size());
    const EventWait& wait = test.run->waits().at(test.key(step));
    return test.sending("paid", key, R"({"sum":1})", wait.opened.correlation.view());
  }
  if (kind == BoundaryKind::pause) {
    return test.resolving(ManualAction::resumed, step);
  }
  return test.resolving(well ? ManualAction::approved : ManualAction::rejected, step);
}

// `well`: the run must not fail of it.
bool move(Watched& world, const std::pair<Watched::Move, std::string>& next, bool well) {
  TestRun& test = world.test;
  switch (next.first) {
    case Watched::Move::work: {
      const Runnable& plan = test.run->latest(next.second)->plan;
      const bool may_fail = plan.attempt_number < policy_of(*test.run, plan).rule.max_attempts;
      const bool fails = one_in(4) && (may_fail || !well);
      return world.take(fails ? failing(test, next.second) : completing(test, next.second));
    }
    case Watched::Move::fire:
      test.now = std::max(test.now, test.run->find(next.second)->plan.visible_at);
      return world.take(test.firing(next.second));
    case Watched::Move::resolve:
      return world.take(resolving(test, next.second, well || one_in(2)));
    case Watched::Move::child: {
      const Runnable& plan = test.run->find(next.second)->plan;
      const bool may_fail = plan.attempt_number < policy_of(*test.run, plan).rule.max_attempts;
      return world.take(ending_child(test, next.second, !(one_in(4) && (may_fail || !well))));
    }
  }
  return false;
}

MutateGraph random_mutation(const Watched& world) {
  const std::uint64_t version = world.test.run->graph().version;
  MutateGraph command;
  command.mutation_id = "m" + std::to_string(version);
  command.expected_version = version;
  command.origin = world.test.origin("s0");
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
  for (const auto& [id, item] : world.test.run->graph().active) {
    if (one_in(4)) {
      command.removals.push_back({item.kind, SharedText(id)});
    }
  }
  return command;
}

TestRun::Decision mutating(const Watched& world) {
  return [&test = world.test, command = random_mutation(world)](RunProjection& run) {
    return decide_mutate_graph(run, command, test.now);
  };
}

RC_GTEST_PROP(DecideProp, every_run_ends_completed_with_each_step_done_once, ()) {
  Watched world;
  const RunProjection& run = *world.test.run;
  for (int i = 0; i < 400 && !run.is_terminal(); ++i) {
    if (i < 60 && one_in(10)) {
      world.take(mutating(world));
    }
    const auto moves = world.moves();
    RC_ASSERT(!moves.empty());
    RC_ASSERT(move(world, any_of(moves), true));
  }
  RC_ASSERT(run.status() == RunStatus::completed);
  RC_ASSERT(world.ends == 1);
  RC_ASSERT(run.progress().done_count == world.test.definition->path_count());
  for (const Step& step : world.test.definition->steps()) {
    RC_ASSERT(world.done[step.name.str()] == (step.begins_path ? 1 : 0));
  }
  for (const auto& [id, item] : run.graph().active) {
    RC_ASSERT(item.kind == GraphItem::edge || world.done[id] == 1);
  }
  RC_ASSERT(run.open_count() == 0U);
}

TestRun::Decision random_command(Watched& world) {
  TestRun& test = world.test;
  const std::string key = "k" + std::to_string(below(9));
  switch (below(9)) {
    case 0: {
      const auto how = one_in(6) ? static_cast<OnCancel>(below(3)) : OnCancel::compensate;
      if (!one_in(5)) {
        return mutating(world);
      }
      return [&test, how](RunProjection& run) {
        return decide_cancel(run, {}, how, test.around, test.now);
      };
    }
    case 1:
      return test.resolving(static_cast<ManualAction>(below(3)), "", one_in(2) ? "" : key);
    case 2:
      return test.sending(one_in(2) ? "paid" : "gone", key, "{}", one_in(2) ? "c" : "");
    case 3:
      test.now.value += one_in(30) ? 3'600'000 : 0;
      return test.firing(runnable_key(run_no(1), "__run__", 1).str());
    case 4:
      return [&test, key,
              changes = json(one_in(2) ? R"({"a":1})" : R"({"a":null})")](RunProjection& run) {
        return decide_update_attributes(run, changes, key, test.now);
      };
    case 5:
      return [&test, old = one_in(2)](RunProjection& run) {
        return old ? decide_archive(run, "old", test.now) : decide_unarchive(run, test.now);
      };
    case 6:
      return [&test, key](RunProjection& run) {
        return decide_continue(run, {SharedText(key), {}}, test.now);
      };
    case 7: {
      StartChild child;
      child.origin = test.origin("s0");
      child.definition = test.definition;
      child.child_key = key;
      return
          [&test, child](RunProjection& run) { return decide_start_child(run, child, test.now); };
    }
    default:
      return mutating(world);
  }
}

// A worker claims available work, or releases it.
void claim_something(Watched& world) {
  world.test.around.claimed.clear();
  for (const auto& [kind, step] : world.moves()) {
    if (kind == Watched::Move::work && one_in(2)) {
      world.test.claim(step);
    }
  }
}

RC_GTEST_PROP(DecideProp, whatever_is_decided_is_accepted_and_a_run_can_always_continue, ()) {
  Watched world;
  const RunProjection& run = *world.test.run;
  const int count = below(80);
  for (int i = 0; i < count; ++i) {
    const auto moves = world.moves();
    if (moves.empty() || one_in(3)) {
      world.take(random_command(world));
    } else {
      claim_something(world);
      const auto next = any_of(moves);
      world.test.around.claimed.erase(
          next.first == Watched::Move::work ? world.test.key(next.second) : "");
      move(world, next, false);
    }
    // There is something to do, or the run has ended.
    RC_ASSERT(run.is_terminal() || !world.moves().empty());
  }
  RC_ASSERT(world.ends == (run.is_terminal() ? 1 : 0));
  RC_ASSERT(world.old_facts == 0);
  for (const auto& [step, times] : world.done) {
    RC_ASSERT(times <= 1);
  }
}

RC_GTEST_PROP(DecideProp, a_compensating_run_ends, ()) {
  Watched world;
  const RunProjection& run = *world.test.run;
  for (int i = 0; i < 12 && !run.is_terminal(); ++i) {
    move(world, any_of(world.moves()), true);
  }
  claim_something(world);
  if (run.is_terminal()) {
    return;
  }
  world.test.cancel(OnCancel::compensate);
  world.test.around.claimed.clear();
  for (int i = 0; i < 200 && !run.is_terminal(); ++i) {
    RC_ASSERT(run.status() == RunStatus::compensating);
    RC_ASSERT(!world.moves().empty());
    for (const auto& [kind, what] : world.moves()) {
      RC_ASSERT(kind == Watched::Move::work);
    }
    RC_ASSERT(move(world, any_of(world.moves()), false));
  }
  RC_ASSERT(run.status() == RunStatus::cancelled);
  // What was done is undone, each once, and nothing else is.
  for (const PlannedRunnable* planned : run.runnables()) {
    const std::string step = planned->plan.step.str();
    if (step.starts_with("compensate:")) {
      RC_ASSERT(world.done[step.substr(11)] == 1);
    }
  }
}

}  // namespace
}  // namespace holdfast::run_decide_prop_test

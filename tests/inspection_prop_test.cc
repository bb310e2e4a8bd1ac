// For random workflows: a query on the past shows the state of that time, every run has a reason,
// and following the advice moves the run.
#include <gtest/gtest.h>

#include "lab/sim/sim_words.h"
#include "runs/inspect/inspector.h"
#include "runs/view/run_snapshot.h"
#include "tests/support/workflow_author.h"

namespace holdfast::inspection_prop_test {
namespace {

constexpr std::uint64_t kSeeds = 60;

At at_position(std::uint64_t position) {
  At at;
  at.kind = At::Kind::position;
  at.number = position;
  return at;
}

RunSource live_source(WorkflowWorld& world, const RunId& id) {
  LiveState& state = world.core().state();
  RunSource source{must(state.runs().get(id)), {}, state.position(), world.clock().now()};
  for (const auto& [name, queue] : state.queues().all()) {
    source.queues.push_back(queue.get());
  }
  return source;
}

FindRun live_runs(WorkflowWorld& world) {
  return [&world](const RunId& id) -> Result<std::optional<RunSource>> {
    const auto exists = world.core().state().runs().exists(id);
    return exists.ok() && exists.value() ? std::optional(live_source(world, id)) : std::nullopt;
  };
}

std::string text(const JsonText& json) { return std::string(json.view()); }

// What queries returned after a commit.
struct Seen {
  TimeMs now;
  std::map<RunId, std::string> snapshots;
  std::map<RunId, std::string> explanations;
  std::map<RunId, std::string> graphs;
  std::string status;
  std::string list;
};

Seen look(WorkflowWorld& world) {
  LiveState& state = world.core().state();
  Seen seen;
  seen.now = world.clock().now();
  const Moment moment{state.position(), seen.now};
  for (const RunId& id : state.runs().ids()) {
    const RunSource source = live_source(world, id);
    seen.snapshots[id] = text(run_snapshot(source));
    seen.explanations[id] = text(to_json(must(explain_run(source, live_runs(world)))));
    seen.graphs[id] = text(to_json(run_graph(source), true));
  }
  seen.status = text(to_json(must(store_status(state, moment))));
  seen.list = text(to_json(must(list_runs(world.journal(), {}, moment)), moment));
  return seen;
}

// A random definition, if it is valid.
std::optional<WorldScript> script_for(std::uint64_t seed) {
  const std::string definition = Author(seed).write();
  return Definition::parse(definition).ok() ? std::optional(script_of(seed, definition))
                                            : std::nullopt;
}

TEST(Inspection, of_the_past_shows_the_state_of_that_time) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 1; seed <= seeds(kSeeds); ++seed) {
    auto script = script_for(seed);
    if (!script.has_value()) {
      continue;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::map<std::uint64_t, Seen> history;
    script->watch = [&](WorkflowWorld& world) {
      history[world.core().state().position().value] = look(world);
    };
    WorkflowWorld world(*script);
    world.play();
    Inspector inspector(world.journal(), world.clock());
    for (int question = 0; question < 8; ++question) {
      const std::uint64_t position =
          1 + draw(seed, "position " + std::to_string(question), history.size());
      const Seen& then = history.at(position);
      const At at = at_position(position);
      EXPECT_EQ(text(to_json(must(inspector.status(at)))), then.status) << position;
      EXPECT_NE(must(inspector.doctor(at)).verdict(), Check::Verdict::fault)
          << text(to_json(must(inspector.doctor(at))));
      const Moment moment = must(inspector.moment(at));
      EXPECT_EQ(moment.now, then.now);
      EXPECT_EQ(text(to_json(must(list_runs(world.journal(), {}, moment)), moment)), then.list);
      for (const auto& [run, snapshot] : then.snapshots) {
        EXPECT_EQ(text(must(inspector.snapshot(run, at))), snapshot) << position;
        EXPECT_EQ(text(to_json(must(inspector.explain(run, at)))), then.explanations.at(run));
        EXPECT_EQ(text(to_json(must(inspector.graph(run, at)), true)), then.graphs.at(run));
        ++compared;
      }
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }
  EXPECT_GT(compared, seeds(kSeeds)) << "too few runs were live";
}

TEST(Inspection, has_a_reason_and_advice_for_every_run_after_every_commit) {
  std::map<std::string, std::uint64_t> reasons;
  for (std::uint64_t seed = 1; seed <= seeds(kSeeds) * 2; ++seed) {
    auto script = script_for(seed);
    if (!script.has_value()) {
      continue;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    script->watch = [&](WorkflowWorld& world) {
      for (const RunId& id : world.core().state().runs().ids()) {
        const Explanation why = must(explain_run(live_source(world, id), live_runs(world)));
        ++reasons[std::string(to_text(why.reason))];
        EXPECT_LT(why.reason, Reason::idle) << text(to_json(why));
        EXPECT_GT(why.reason, Reason::terminal) << text(to_json(why));
        EXPECT_FALSE(why.summary.empty());
        EXPECT_FALSE(why.next_actions.empty()) << text(to_json(why));
        EXPECT_FALSE(why.step.empty()) << text(to_json(why));
      }
    };
    WorkflowWorld world(*script);
    world.play();
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  for (const char* reason :
       {"manual_intervention_required", "attempt_visible", "attempt_claimed",
        "attempt_scheduled_for_later", "deferred_continuation", "waiting_for_child"}) {
    EXPECT_GT(reasons[reason], 0U) << "no run ever had the reason " << reason;
  }
}

// --------------------------------------------------------------------------------------------
// Following the advice

std::string without_evidence(const Explanation& why) {
  const std::string json = text(to_json(why));
  return json.substr(0, json.find(R"(,"evidence":)"));
}

// What an advised command decides about a step; empty if the verb is unknown.
std::optional<ManualAction> decision_of(const std::string& verb) {
  static const std::map<std::string, ManualAction> actions{{"approve", ManualAction::approved},
                                                           {"reject", ManualAction::rejected},
                                                           {"resume", ManualAction::resumed},
                                                           {"retry", ManualAction::retried},
                                                           {"discard", ManualAction::discarded}};
  const auto at = actions.find(verb);
  return at == actions.end() ? std::nullopt : std::optional(at->second);
}

// holdfast VERB RUN ..., holdfast dead-letters VERB RUN ...
void type(WorkflowWorld& world, const NextAction& advice) {
  std::vector<std::string> words = sim::words_of(advice.command);
  if (words.size() > 1 && words[1] == "dead-letters") {
    words.erase(words.begin() + 1);
  }
  ASSERT_GE(words.size(), 3U) << advice.command;
  const RunId run = must(parse_run_id(words[2]));
  if (words[1] == "signal") {
    SendEvent event;
    event.event = words.at(3);
    event.source.idempotency_key = "advised";
    world.submit(run, [&](RunProjection& known, Turn& turn) {
      return decide_receive_event(known, event, EngineSurroundings(turn), turn.now());
    });
    return;
  }
  const std::optional<ManualAction> action = decision_of(words[1]);
  ASSERT_TRUE(action.has_value()) << advice.command;
  ResolveStep resolve;
  resolve.action = *action;
  resolve.step = sim::after_option(words, "--step");
  resolve.source.actor = sim::after_option(words, "--actor").empty() ? "bob" : "ann";
  world.submit(run, [&](RunProjection& known, Turn& turn) {
    return decide_resolve(known, resolve, EngineSurroundings(turn), turn.now());
  });
}

// False if the advice is only to inspect something.
bool follow(WorkflowWorld& world, const NextAction& advice) {
  if (advice.action == "inspect_child_run" || advice.action == "apply_host_escalation_policy" ||
      advice.action == "inspect_deadline_policy" || advice.action == "fix_failing_step") {
    return false;
  }
  if (advice.at.has_value()) {
    world.clock().advance_ms(
        std::max<std::int64_t>(0, advice.at->value - world.clock().now().value));
    return true;
  }
  if (advice.command.starts_with("holdfast work")) {
    world.settle();
    return true;
  }
  if (advice.action == "wait_for_worker_claim" || advice.action == "recover_expired_claim") {
    return true;  // the caller lets workers execute attempts
  }
  type(world, advice);
  return true;
}

// More seeds than elsewhere: few of these runs have parked a step that a retry alone would move.
TEST(Inspection, gives_advice_that_moves_the_run) {
  std::map<std::string, std::uint64_t> followed;
  std::uint64_t advised_to_migrate = 0;  // nothing here corrects a definition
  for (std::uint64_t seed = 1; seed <= seeds(kSeeds) * 4; ++seed) {
    auto script = script_for(seed);
    if (!script.has_value()) {
      continue;
    }
    std::vector<TimeMs> times;
    WorldScript whole_script = *script;
    whole_script.watch = [&](WorkflowWorld& world) { times.push_back(world.clock().now()); };
    WorkflowWorld whole(whole_script);
    whole.play();
    for (int question = 0; question < 4; ++question) {
      const std::uint64_t cut = 1 + draw(seed, "cut " + std::to_string(question), times.size());
      SCOPED_TRACE("seed " + std::to_string(seed) + " cut after " + std::to_string(cut));
      const auto disk = [&] { return whole.cut_after(cut); };
      const TimeMs now = times[cut - 1];
      const std::vector<RunId> runs = WorkflowWorld(*script, disk(), now).run_ids();
      for (const RunId& run : runs) {
        for (std::size_t advice = 0;; ++advice) {
          WorkflowWorld world(*script, disk(), now);
          Inspector inspector(world.journal(), world.clock());
          const Explanation before = must(inspector.explain(run));
          if (before.terminal || advice >= before.next_actions.size()) {
            break;
          }
          const NextAction& next = before.next_actions[advice];
          const bool needs_correction = before.next_actions.front().action == "migrate_run" &&
                                        next.action != "discard_parked_step";
          advised_to_migrate += needs_correction ? 1U : 0U;
          if (needs_correction || !follow(world, next)) {
            continue;
          }
          ++followed[next.action];
          const auto moved = [&] {
            return without_evidence(must(inspector.explain(run))) != without_evidence(before);
          };
          // A worker may execute other attempts first.
          for (int work = 0; work < 100 && !moved() && world.work(); ++work) {
          }
          EXPECT_TRUE(moved()) << next.action << ": " << next.command << "\n"
                               << without_evidence(before);
        }
      }
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }
  EXPECT_GT(advised_to_migrate, 0U);
  for (const char* action :
       {"resolve_manual_step", "deliver_external_event", "inspect_event_wait_timeout",
        "wait_for_worker_claim", "wait_for_attempt_completion", "wait_until_attempt_visible",
        "retry_parked_step", "discard_parked_step"}) {
    EXPECT_GT(followed[action], 0U) << action << " was never advised";
  }
}

}  // namespace
}  // namespace holdfast::inspection_prop_test

// A run that is reported as safe to migrate ends as one that followed the target from the start.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "runs/language/data/canonical_json.h"
#include "runs/run/run_migration.h"
#include "tests/support/run_fixture.h"

namespace holdfast::run_migration_prop_test {
namespace {

constexpr int kSteps = 5;

std::string name_of(int step) { return "s" + std::to_string(step); }

// Steps with dependencies on earlier ones; `order` decides which step is earlier.
struct Draft {
  std::vector<int> steps;
  std::vector<std::uint32_t> after;    // bits, by step
  std::vector<bool> has_output;        // by step
  std::vector<std::uint32_t> handler;  // by step

  [[nodiscard]] std::string text() const {
    std::string list;
    std::uint32_t earlier = 0;
    for (const int step : steps) {
      const auto index = static_cast<std::size_t>(step);
      list += list.empty() ? "" : ",";
      list += R"({"name":")" + name_of(step) + R"(","handler":"h)" +
              std::to_string(handler[index]) + "\"";
      list += has_output[index] ? R"(,"output":"o)" + std::to_string(step) + "\"" : "";
      std::string names;
      for (int other = 0; other < kSteps; ++other) {
        if ((after[index] & earlier & (1U << static_cast<unsigned>(other))) != 0) {
          names += (names.empty() ? "\"" : ",\"") + name_of(other) + "\"";
        }
      }
      list += names.empty() ? "}" : R"(,"after":[)" + names + "]}";
      earlier |= 1U << static_cast<unsigned>(step);
    }
    return "[" + list + "]";
  }
};

Draft any_draft() {
  Draft draft;
  for (int step = 0; step < kSteps; ++step) {
    draft.steps.push_back(step);
    draft.after.push_back(*rc::gen::inRange<std::uint32_t>(0, 1U << kSteps));
    draft.has_output.push_back(*rc::gen::inRange(0, 4) == 0);
    draft.handler.push_back(0);
  }
  draft.steps.pop_back();  // the last one may come with the target
  return draft;
}

// Some of what an author changes.
Draft edited(Draft draft) {
  for (int edits = *rc::gen::inRange(1, 3); edits > 0; --edits) {
    const auto at = *rc::gen::inRange<std::size_t>(0, kSteps);
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        draft.after[at] = *rc::gen::inRange<std::uint32_t>(0, 1U << kSteps);
        break;
      case 1:
        draft.has_output[at] = !draft.has_output[at];
        break;
      case 2:
        draft.handler[at] = 1;
        break;
      case 3:
        std::erase(draft.steps, static_cast<int>(at));
        break;
      default:
        if (std::find(draft.steps.begin(), draft.steps.end(), kSteps - 1) == draft.steps.end()) {
          draft.steps.push_back(kSteps - 1);
        }
    }
  }
  return draft;
}

std::vector<std::string> open_steps(const RunProjection& run) {
  std::vector<std::string> open;
  for (const PlannedRunnable* planned : run.runnables()) {
    if (!planned->applied) {
      open.push_back(planned->plan.step.str());
    }
  }
  return open;
}

void finish_one(TestRun& test) {
  const auto open = open_steps(*test.run);
  const std::string step = open[*rc::gen::inRange<std::size_t>(0, open.size())];
  test.apply(step, R"({")" + step + R"(":true})");
}

// What a run left behind, whatever the order in which independent steps ended.
std::string outcome(const RunProjection& run) {
  std::string text(to_text(run.status()));
  text += " " + canonical_json(run.context().view());
  std::set<std::string> steps;
  for (const PlannedRunnable* planned : run.runnables()) {
    steps.insert(planned->plan.step.str());
  }
  for (const std::string& step : steps) {
    text += " " + step;
  }
  return text;
}

// No step began before what it waits for on the definition that it ended on.
void check_order(const RunProjection& run) {
  for (const Step& step : run.definition()->steps()) {
    const PlannedRunnable* planned = run.latest(step.name.view());
    RC_ASSERT(planned != nullptr);
    for (const StepIndex before : step.after) {
      RC_ASSERT(run.latest(run.definition()->steps()[before].name.view())->applied_order <
                planned->applied_order);
    }
  }
}

RC_GTEST_PROP(MigrationProperty, a_run_reported_as_safe_does_not_diverge, ()) {
  const Draft before = any_draft();
  const Draft after = edited(before);
  if (after.steps.empty()) {
    return;
  }
  const auto target = definition_of(after.text());
  TestRun test(definition_of(before.text()));
  test.start();
  for (int steps = *rc::gen::inRange(0, kSteps - 1); steps > 0 && !test.run->is_terminal();
       --steps) {
    finish_one(test);
  }
  if (test.run->is_terminal()) {
    return;
  }
  MigrateRun command;
  command.target = target;
  const TestRun::Decision migrate = [&](RunProjection& run) {
    return decide_migrate(run, command, test.around, test.now);
  };
  const bool safe = migration_problems(*test.run, *target).empty();
  RC_CLASSIFY(safe, "safe");
  const bool same = target->fingerprint() == test.definition->fingerprint();
  RC_ASSERT(test.dry_run(migrate).ok() == (safe || same));
  if (!safe) {
    return;
  }
  test.put(migrate);
  while (!test.run->is_terminal()) {
    RC_ASSERT(!open_steps(*test.run).empty());
    finish_one(test);
  }
  TestRun fresh(target);
  fresh.start();
  while (!fresh.run->is_terminal()) {
    finish_one(fresh);
  }
  RC_ASSERT(outcome(*test.run) == outcome(*fresh.run));
  check_order(*test.run);
}

}  // namespace
}  // namespace holdfast::run_migration_prop_test

// For every valid definition and every result of its steps, a run ends or waits for something that
// can be named. It is never stuck.
#include <gtest/gtest.h>

#include "tests/support/workflow_author.h"

namespace holdfast::workflow_prop_test {
namespace {

constexpr std::uint64_t kSeeds = 400;

// What a live run waits for; empty: nothing, so it is stuck.
std::string reason_of(WorkflowWorld& world, const RunId& id) {
  const auto run = world.load(id);
  for (const auto& [step, state] : run->boundaries()) {
    return std::string(to_text(state.kind)) + " at " + step.str();
  }
  for (const auto& [child, link] : run->children()) {
    if (link.awaited && !world.load(child)->is_terminal()) {
      const std::string reason = reason_of(world, child);
      return reason.empty() ? "" : "child: " + reason;
    }
  }
  return "";
}

TEST(RandomWorkflows, end_or_wait_for_a_named_cause) {
  std::uint64_t valid = 0;
  std::map<std::string, std::uint64_t> ends;
  for (std::uint64_t seed = 1; seed <= seeds(kSeeds); ++seed) {
    const std::string definition = Author(seed).write();
    if (!Definition::parse(definition).ok()) {
      continue;
    }
    ++valid;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + definition);
    WorkflowWorld world(script_of(seed, definition));
    world.play();
    for (const RunId& id : world.run_ids()) {
      const auto run = world.load(id);
      EXPECT_TRUE(run->anomalies().empty()) << run->anomalies().front().reason.view();
      const std::string reason = run->is_terminal() ? "ended" : reason_of(world, id);
      EXPECT_FALSE(reason.empty()) << to_string(id) << " is " << to_text(run->status());
      ++ends[std::string(to_text(run->status()))];
    }
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(valid * 2, seeds(kSeeds)) << "too few of the definitions were valid";
  for (const char* status : {"completed", "failed", "paused"}) {
    EXPECT_GT(ends[status], 0U) << "no run ended as " << status;
  }
}

// The same with a restart somewhere in the middle.
TEST(RandomWorkflows, end_the_same_way_after_a_restart) {
  for (std::uint64_t seed = 1; seed <= seeds(kSeeds) / 4; ++seed) {
    const std::string definition = Author(seed).write();
    if (!Definition::parse(definition).ok() || definition.find("timeout") != std::string::npos) {
      continue;  // the winner of a race between a worker and a timeout may differ
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + definition);
    const WorldScript script = script_of(seed, definition);
    WorkflowWorld whole(script);
    whole.play();
    const std::size_t cut = draw(seed, "cut", whole.commits());
    WorkflowWorld rest(script, whole.cut_after(cut), whole.clock().now());
    rest.play();
    std::vector<std::string> statuses[2];
    WorkflowWorld* worlds[] = {&whole, &rest};
    for (std::size_t i = 0; i < 2; ++i) {
      for (const auto& [id, text] : worlds[i]->outcome()) {
        statuses[i].push_back(id + " " + text.substr(0, text.find(' ')));
      }
    }
    EXPECT_EQ(statuses[0], statuses[1]) << "cut after commit " << cut;
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace holdfast::workflow_prop_test

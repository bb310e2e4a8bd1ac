// Circuit breakers as an embedding program sees them.
#include <atomic>

#include "tests/support/embed_fixture.h"

namespace holdfast::embed_circuit_test {
namespace {

TEST(EmbedCircuit, an_operator_closes_it) {
  Engine engine = open_engine();
  std::atomic<bool> up = false;
  StepSettings settings;
  settings.retry.max_attempts = 3;
  settings.circuit_breaker = {.failures = 1, .probe_after = std::chrono::hours(1)};
  register_job(
      engine,
      [&](StepContext&, std::string_view) {
        return up ? StepResult::ok() : StepResult::retry("down", "no answer");
      },
      settings);
  EXPECT_EQ(must(engine.close_circuit_breaker("job", "work")), std::vector<std::string>());
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  up = true;
  const std::string held = must(engine.explain(run)).json;
  EXPECT_NE(held.find("holdfast circuit close job work --queue default"), std::string::npos)
      << held;
  EXPECT_NE(must(engine.status_json()).find(R"("open_circuits":[{"workflow":"job","step":"work")"),
            std::string::npos);
  EXPECT_EQ(must(engine.close_circuit_breaker("job", "work", {.queue = "other"})),
            std::vector<std::string>());
  EXPECT_EQ(must(engine.close_circuit_breaker("job", "work", {.actor = "ann", .reason = "fixed"})),
            std::vector<std::string>{"default"});
  while (!inspect(engine, run).terminal) {
    must(engine.execute_next(kLong));
  }
  EXPECT_EQ(inspect(engine, run).status, "completed");
}

TEST(EmbedCircuit, a_step_without_one_is_an_error) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  EXPECT_EQ(code_of(engine.close_circuit_breaker("job", "work")), "not_found");
  EXPECT_EQ(code_of(engine.close_circuit_breaker("job", "mail")), "not_found");
  EXPECT_EQ(code_of(engine.close_circuit_breaker("other", "work")), "unknown_workflow");
}

}  // namespace
}  // namespace holdfast::embed_circuit_test

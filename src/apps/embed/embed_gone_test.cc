// An engine that was closed or moved from: every function reports that.
#include "tests/support/gone_calls.h"

namespace holdfast::embed_gone_test {
namespace {

GoneCalls calls_of(Engine& engine) {
  GoneCalls calls = common_calls(engine);
  calls["continue_as_new"] = [&] { return code_of(engine.continue_as_new(kUnknownRun, "{}")); };
  calls["execute_next"] = [&] { return code_of(engine.execute_next()); };
  calls["drain"] = [&] { return code_of(engine.drain()); };
  calls["stats"] = [&] { return code_of(engine.stats()); };
  return calls;
}

TEST(EmbedGone, every_function_of_a_closed_engine_returns_engine_stopped) {
  Engine engine = open_engine();
  engine.close();
  expect_all(calls_of(engine), "engine_stopped");
  engine.close();
}

TEST(EmbedGone, every_function_of_a_moved_from_engine_returns_engine_stopped) {
  Engine engine = open_engine();
  const Engine taken = std::move(engine);
  expect_all(calls_of(engine), "engine_stopped");  // NOLINT(bugprone-use-after-move)
  engine.close();
}

TEST(EmbedGone, a_moved_from_engine_can_be_assigned_again) {
  Engine engine = open_engine();
  const Engine taken = std::move(engine);
  engine = open_engine();
  register_job(engine, nothing);
  start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
}

}  // namespace
}  // namespace holdfast::embed_gone_test

// An engine that is there no more: closed, or moved from. Every function says so.
#include "tests/support/gone_calls.h"

namespace holdfast {
namespace {

Calls calls_of(Engine& engine) {
  Calls calls = common_calls(engine);
  calls["continue_as_new"] = [&] { return code_of(engine.continue_as_new(kRun, "{}")); };
  calls["execute_next"] = [&] { return code_of(engine.execute_next()); };
  calls["drain"] = [&] { return code_of(engine.drain()); };
  calls["stats"] = [&] { return code_of(engine.stats()); };
  return calls;
}

TEST(EmbedGone, every_function_of_a_closed_engine_says_that_it_was_stopped) {
  Engine engine = open_engine();
  engine.close();
  expect_all(calls_of(engine), "engine_stopped");
  engine.close();
}

TEST(EmbedGone, every_function_of_an_engine_that_was_moved_from_says_so) {
  Engine engine = open_engine();
  const Engine taken = std::move(engine);
  expect_all(calls_of(engine), "engine_stopped");  // NOLINT(bugprone-use-after-move)
  engine.close();
}

TEST(EmbedGone, an_engine_that_was_moved_from_can_be_one_again) {
  Engine engine = open_engine();
  const Engine taken = std::move(engine);
  engine = open_engine();
  register_job(engine, nothing);
  start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
}

}  // namespace
}  // namespace holdfast

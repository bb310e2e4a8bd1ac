// Windows of a schedule that a program delivers.
#include "tests/support/embed_fixture.h"

namespace holdfast::embed_delivery_test {
namespace {

constexpr CronWindow kNight{1'794'780'600'000, 1'794'867'000'000};  // 2026-11-15T22:10:00Z, a day

Engine reporting() {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job")
                                    .cron("nightly", {.expression = "10 22 * * *",
                                                      .timezone = "UTC",
                                                      .delivery = CronTrigger::Delivery::external})
                                    .step("work")));
  must(engine.register_handler("work", nothing));
  return engine;
}

TEST(EmbedDelivery, of_a_window_starts_its_run_once) {
  Engine engine = reporting();
  const DeliveredRun first = must(engine.deliver_cron("job", "nightly", {.window = kNight}));
  const DeliveredRun again = must(engine.deliver_cron("job", "nightly", {.window = kNight}));
  EXPECT_EQ(first.outcome, DeliveredRun::Outcome::started);
  EXPECT_EQ(again.outcome, DeliveredRun::Outcome::existing);
  EXPECT_EQ(first.run_id, again.run_id);
  EXPECT_EQ(must(engine.drain()), 1U);
  const RunView view = must(engine.inspect(first.run_id));
  EXPECT_EQ(view.status, "completed");
  EXPECT_NE(view.context.find(R"("start_at":"2026-11-15T22:10:00.000Z")"), std::string::npos)
      << view.context;
}

TEST(EmbedDelivery, that_names_no_window_is_refused) {
  Engine engine = reporting();
  const auto refused = engine.deliver_cron("job", "nightly", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(engine.deliver_cron("job", "nightly", {.signal_id = "night-1"}).ok());
}

}  // namespace
}  // namespace holdfast::embed_delivery_test

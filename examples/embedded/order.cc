// An order, carried out by an engine inside this program: two steps at once after the check, one
// of them fails at first and is tried again, then a join.
//
// usage: order [STORE_URL [ORDER_NUMBER]]
#include <holdfast/holdfast.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
using holdfast::JsonObject;
using holdfast::StepContext;
using holdfast::StepResult;

namespace {

StepResult check(StepContext& /*context*/, std::string_view input) {
  const auto items = holdfast::json_integer(input, "items");
  if (!items.has_value() || *items < 1) {
    return StepResult::fail("empty_order", "an order has at least one item");
  }
  return StepResult::ok(JsonObject().add("total", *items * 12).text());
}

// The bank is not there at first. The key makes sure that it charges once, whatever happens.
StepResult charge(StepContext& context, std::string_view input) {
  if (context.attempt() == 1) {
    return StepResult::retry("bank_unreachable", "no answer from the bank");
  }
  const std::string key = context.run_id() + ":" + context.step();
  return StepResult::ok(JsonObject()
                            .add("charged", holdfast::json_integer(input, "total").value_or(0))
                            .add("charged_under", key)
                            .text());
}

StepResult reserve(StepContext& /*context*/, std::string_view /*input*/) {
  return StepResult::ok(R"({"shelf":"B7"})");
}

StepResult ship(StepContext& /*context*/, std::string_view input) {
  const std::string shelf = holdfast::json_text(input, "shelf").value_or("");
  return StepResult::ok(JsonObject().add("parcel", "from shelf " + shelf).text());
}

holdfast::Result<holdfast::RunView> carry_out(const std::string& url, const std::string& order) {
  HOLDFAST_TRY(auto engine, holdfast::Engine::open(url));
  HOLDFAST_CHECK(engine.register_workflow(
      holdfast::Workflow("order")
          .version("1")
          .step("check")
          .step("charge", {.after = {"check"}, .retry = {.max_attempts = 5, .delay = 20ms}})
          .step("reserve", {.after = {"check"}})
          .step("ship", {.after = {"charge", "reserve"}})));
  HOLDFAST_CHECK(engine.register_handler("check", check));
  HOLDFAST_CHECK(engine.register_handler("charge", charge));
  HOLDFAST_CHECK(engine.register_handler("reserve", reserve));
  HOLDFAST_CHECK(engine.register_handler("ship", ship));

  // However often this program is started, there is one run for the order.
  HOLDFAST_TRY(const auto run,
               engine.start("order", R"({"items":3})", {.idempotency_key = "order " + order}));
  std::cout << (run.existed ? "known order " : "new order ") << order << "\n";

  const std::jthread workers([&engine](const std::stop_token& stop) {
    const auto worked = engine.work(2, stop);
    if (!worked.ok()) {
      std::cerr << worked.error().text() << "\n";
    }
  });
  return engine.wait(run.run_id, 30s);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:";
  const std::string order = argc > 2 ? argv[2] : "1";
  const auto run = carry_out(url, order);
  if (!run.ok()) {
    std::cerr << run.error().text() << "\n";
    return EXIT_FAILURE;
  }
  for (const auto& step : run.value().steps) {
    std::cout << step.name << ": " << step.status << ", attempts: " << step.attempts << "\n";
  }
  std::cout << "parcel: " << holdfast::json_text(run.value().context, "parcel").value_or("none")
            << "\nrun: " << run.value().status << "\n";
  return run.value().status == "completed" ? EXIT_SUCCESS : EXIT_FAILURE;
}

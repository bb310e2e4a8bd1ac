// A shop with an embedded engine: an order is charged, a large one needs an approval, the parcels
// are shipped two at a time; if one cannot be shipped, the completed steps are compensated.
//
// usage: order place NUMBER TOTAL PARCEL...    starts the order, or continues it
//        order approve|reject RUN WHO          decides, then continues
//
// The store is $HOLDFAST_STORE, or sqlite:orders.db. Every outside effect of the shop is a line in
// ledger.txt. $CARRIER_MS is how long the carrier takes for a parcel.
#include <holdfast/holdfast.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using holdfast::Engine;
using holdfast::JsonObject;
using holdfast::Result;
using holdfast::RunView;
using holdfast::StepContext;
using holdfast::StepResult;
using holdfast::When;
using holdfast::Workflow;

namespace {

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// The bank and the carrier. They perform an effect once per key and record repeated requests, which
// occur for attempts that were in progress when the program was killed.
class Ledger {
 public:
  explicit Ledger(std::string path) : path_(std::move(path)) {}

  void note(const std::string& what, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const std::string entry = what + " " + key;
    bool known = false;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      known = known || line == entry;
    }
    std::ofstream(path_, std::ios::app) << entry << (known ? " again\n" : "\n") << std::flush;
  }

 private:
  std::mutex mutex_;
  std::string path_;
};

Workflow order_workflow() {
  return Workflow("order")
      .version("1")
      .trigger("placed", {{"number", holdfast::DataField::string()},
                          {"total", holdfast::DataField::integer()},
                          {"parcels", holdfast::DataField::list()}})
      .step("charge", {.lease = 1s,
                       .retry = {.max_attempts = 5, .delay = 20ms},
                       .output = "payment",
                       .compensate = {.handler = "refund"}})
      .approval("manager", "Order {number} costs {total}. Do we trust them?")
      .step("ship", {.lease = 1s,
                     .output = "tracking",
                     .compensate = {.handler = "recall"},
                     .for_each = {.items = "parcels", .as = "parcel", .concurrency = 2}})
      .log("refused", "order {number} was refused by {manager.actor}")
      .transition("charge", "manager", When::path("total").greater(1000))
      .transition("charge", "ship")
      .transition("manager", "ship")
      .on_error("manager", "refused")
      .transition("refused", Workflow::kFail);
}

// The bank does not respond the first two times. The key is the same for all attempts, so it
// charges once whatever happens.
StepResult charge(Ledger& ledger, StepContext& context, std::string_view input) {
  if (context.attempt() < 3) {
    return StepResult::retry("bank_busy", "no answer from the bank");
  }
  const auto total = holdfast::json_integer(input, "total").value_or(0);
  const std::string key = context.run_id() + ":charge";
  ledger.note("charge " + std::to_string(total), key);
  return StepResult::ok(JsonObject().add("amount", total).add("receipt", key).text());
}

StepResult ship(Ledger& ledger, StepContext& context, std::string_view input) {
  const std::string parcel = holdfast::json_text(input, "parcel").value_or("");
  if (parcel == "anvil") {
    return StepResult::fail("too_heavy", "no carrier takes it");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(setting("CARRIER_MS", "0"))));
  const std::string key = context.run_id() + ":ship:" + std::to_string(context.info().item);
  ledger.note("ship " + parcel, key);
  return StepResult::ok(holdfast::json_quote("track-" + parcel));
}

// A compensation receives the step: its name, input and output.
StepResult take_back(Ledger& ledger, const std::string& what, std::string_view input) {
  const std::string step = holdfast::json_value(input, "step").value_or("{}");
  ledger.note(what, holdfast::json_text(step, "runnable_key").value_or(""));
  return StepResult::ok();
}

Result<void> set_up(Engine& engine, Ledger& ledger) {
  HOLDFAST_CHECK(engine.register_workflow(order_workflow()));
  HOLDFAST_CHECK(engine.register_handler("charge", [&](StepContext& context, std::string_view in) {
    return charge(ledger, context, in);
  }));
  HOLDFAST_CHECK(engine.register_handler("ship", [&](StepContext& context, std::string_view in) {
    return ship(ledger, context, in);
  }));
  for (const char* what : {"refund", "recall"}) {
    HOLDFAST_CHECK(engine.register_handler(
        what, [&ledger, what](StepContext& /*context*/, std::string_view in) {
          return take_back(ledger, what, in);
        }));
  }
  return {};
}

// Works until the run has ended, or waits for an operator.
Result<RunView> carry_out(Engine& engine, const std::string& run_id) {
  const std::jthread workers([&engine](const std::stop_token& stop) {
    const auto worked = engine.work(2, stop);
    if (!worked.ok()) {
      std::cerr << worked.error().text() << "\n";
    }
  });
  while (true) {
    HOLDFAST_TRY(RunView run, engine.wait(run_id, 50ms));
    if (run.terminal || run.status == "paused") {
      return run;
    }
  }
}

// Why the run is in its current state. `holdfast explain` shows more.
void explain(const RunView& run) {
  for (const auto& step : run.steps) {
    if (step.attempts > 0) {
      std::cout << step.name << ": " << step.status << ", attempts: " << step.attempts << "\n";
    }
  }
  if (run.status == "paused") {
    const auto waits = holdfast::json_value(run.json, "manual_state").value_or("{}");
    std::cout << holdfast::json_text(waits, "step").value_or("") << ": "
              << holdfast::json_text(waits, "reason").value_or("") << "\nrun " << run.run_id
              << "\n";
  }
  if (!run.error.empty()) {
    std::cout << "error: " << holdfast::json_text(run.error, "code").value_or("") << "\n";
  }
  std::cout << "order: " << run.status << "\n";
}

// There is one run for the order, however often this is called.
Result<std::string> place(Engine& engine, const std::vector<std::string>& arguments) {
  std::string parcels;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    parcels += (parcels.empty() ? "" : ",") + holdfast::json_quote(arguments[i]);
  }
  const std::string input = JsonObject()
                                .add("number", arguments[0])
                                .add_json("total", arguments[1])
                                .add_json("parcels", "[" + parcels + "]")
                                .text();
  HOLDFAST_TRY(const auto run,
               engine.start("order", input, {.idempotency_key = "order " + arguments[0]}));
  std::cout << (run.existed ? "known order " : "new order ") << arguments[0] << "\n" << std::flush;
  return run.run_id;
}

Result<RunView> obey(const std::string& command, const std::vector<std::string>& arguments) {
  Ledger ledger("ledger.txt");
  const holdfast::EngineOptions options{
      .log = [](const holdfast::LogMessage& said) { std::cout << said.message << "\n"; }};
  HOLDFAST_TRY(auto engine, Engine::open(setting("HOLDFAST_STORE", "sqlite:orders.db"), options));
  HOLDFAST_CHECK(set_up(engine, ledger));
  if (command == "place") {
    HOLDFAST_TRY(const std::string run_id, place(engine, arguments));
    return carry_out(engine, run_id);
  }
  const holdfast::DecisionOptions decision{.step = "manager", .actor = arguments[1]};
  HOLDFAST_CHECK(command == "approve" ? engine.approve(arguments[0], decision)
                                      : engine.reject(arguments[0], decision));
  return carry_out(engine, arguments[0]);
}

}  // namespace

// 0: completed, or waiting for an operator; 1: anything else.
int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string command = arguments.empty() ? "" : arguments[0];
  const bool decides = (command == "approve" || command == "reject") && arguments.size() == 3;
  if (!decides && (command != "place" || arguments.size() < 4)) {
    std::cerr << "usage: order place NUMBER TOTAL PARCEL... | order approve|reject RUN WHO\n";
    return 2;
  }
  const auto run = obey(command, {arguments.begin() + 1, arguments.end()});
  if (!run.ok()) {
    std::cerr << run.error().text() << "\n";
    return EXIT_FAILURE;
  }
  explain(run.value());
  return run.value().error.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

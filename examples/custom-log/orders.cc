// An engine on a log of the program's own: each call of this program adds an order and executes
// what is due. `orders FILE` prints the status of the new run and the number of all runs.
#include <holdfast/holdfast.h>

#include <iostream>

#include "file_log.h"

namespace {

holdfast::StepResult charge(holdfast::StepContext& /*context*/, std::string_view /*input*/) {
  return holdfast::StepResult::ok(R"({"charged":true})");
}

holdfast::Result<void> place_order(const std::string& path) {
  HOLDFAST_TRY(auto log, FileLog::open(path));
  HOLDFAST_TRY(auto engine, holdfast::Engine::open(std::move(log)));
  HOLDFAST_CHECK(engine.register_workflow(holdfast::Workflow("order").step("charge")));
  HOLDFAST_CHECK(engine.register_handler("charge", charge));
  HOLDFAST_TRY(const auto run, engine.start("order"));
  HOLDFAST_CHECK(engine.drain());
  HOLDFAST_TRY(const auto view, engine.inspect(run.run_id));
  HOLDFAST_TRY(const auto page, engine.list());
  std::cout << view.status << ", runs: " << page.runs.size() << "\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto placed = place_order(argc > 1 ? argv[1] : "orders.log");
  if (!placed.ok()) {
    std::cerr << placed.error().text() << "\n";
    return 1;
  }
  return 0;
}

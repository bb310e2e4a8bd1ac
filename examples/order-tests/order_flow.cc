#include "order_flow.h"

using namespace std::chrono_literals;

namespace shop {

holdfast::Workflow order_flow() {
  return holdfast::Workflow("order")
      .step("charge",
            {.retry = {.max_attempts = 4, .delay = 10min}, .compensate = {.handler = "refund"}})
      .wait("grace", 24h, {.after = {"charge"}})
      .step("ship", {.after = {"grace"}, .lease = 1min});
}

holdfast::StepResult Warehouse::ship(holdfast::StepContext& context, std::string_view input) {
  const auto order = holdfast::json_integer(input, "order");
  if (!order.has_value()) {
    return holdfast::StepResult::fail("no_order", "there is nothing to ship");
  }
  const auto [parcel, is_new] =
      shipped_.try_emplace(context.info().idempotency_key, "parcel-" + std::to_string(*order));
  return holdfast::StepResult::ok(holdfast::JsonObject().add("parcel", parcel->second).text());
}

}  // namespace shop

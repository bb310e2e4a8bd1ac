// The workflow under test: an order is charged, waits a day in which it can be cancelled, and is
// shipped. A shipment that fails gives the money back.
#pragma once

#include <holdfast/holdfast.h>

#include <map>
#include <string>

namespace shop {

holdfast::Workflow order_flow();

// The warehouse: ships each order once, however often it is called.
class Warehouse {
 public:
  holdfast::StepResult ship(holdfast::StepContext& context, std::string_view input);
  [[nodiscard]] std::size_t parcels() const { return shipped_.size(); }

 private:
  std::map<std::string, std::string> shipped_;  // by idempotency key
};

}  // namespace shop

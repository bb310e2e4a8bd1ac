// Unit tests without a test framework: a failed check is a TestFailure, like every other failure of
// the test kit.
#include "order_flow.h"

#include <holdfast/testing.h>

#include <iostream>

using holdfast::testing::TestEngine;
using holdfast::testing::TestFailure;
using namespace std::chrono_literals;

namespace {

void check(bool holds, const std::string& what) {
  if (!holds) {
    throw TestFailure(what);
  }
}

// What every test starts with: the workflow, the real warehouse, and a bank that is a stub.
struct Shop {
  TestEngine engine;
  shop::Warehouse warehouse;

  Shop() {
    engine.workflow(shop::order_flow());
    engine.handle("ship",
                  [this](auto& context, auto input) { return warehouse.ship(context, input); });
    engine.stub("charge").returns(R"({"paid":true})");
    engine.stub("refund");
  }
};

void a_busy_bank_is_called_again() {
  Shop shop;
  shop.engine.stub("charge").fails(3, "busy", "the bank does not answer");
  auto run = shop.engine.start("order", R"({"order":7})");
  const auto begin = shop.engine.now();
  check(run.finish().status == "completed", run.explain());
  check(shop.engine.now() - begin == 24h + 30min, "three retries and the day of grace");
  shop.engine.assert_called("charge", 4);
  shop.engine.assert_called_with("ship", R"({"order":7,"paid":true})");
}

void nothing_is_shipped_within_a_day() {
  Shop shop;
  auto run = shop.engine.start("order", R"({"order":7})");
  shop.engine.skip(23h);
  run.cancel();
  shop.engine.skip(48h);
  check(run.status() == "cancelled", run.explain());
  shop.engine.assert_called("ship", 0);
}

void a_crash_after_the_shipment_sends_no_second_parcel() {
  Shop shop;
  shop.engine.crash_after("ship");
  auto run = shop.engine.start("order", R"({"order":7})");
  check(run.finish().status == "completed", run.explain());
  shop.engine.assert_called("ship", 2);
  check(shop.warehouse.parcels() == 1, "one parcel");
}

void a_failed_shipment_is_refunded() {
  Shop shop;
  shop.engine.stub("ship").once(holdfast::StepResult::fail("lost", "the parcel is lost"));
  auto run = shop.engine.start("order", R"({"order":7})");
  check(run.finish().status == "failed", run.explain());
  shop.engine.assert_called("refund", 1);
}

// The engine crashes after its first commit, in the next test after its second, and so on.
void an_order_survives_a_crash_at_any_point() {
  for (std::uint64_t commits = 1;; ++commits) {
    Shop shop;
    shop.engine.crash_after_commits(commits);
    auto run = shop.engine.start("order", R"({"order":7})");
    check(run.finish().status == "completed", run.explain());
    check(shop.warehouse.parcels() == 1, "one parcel");
    if (shop.engine.crashes() == 0) {
      return;  // the order ends before that many commits
    }
  }
}

}  // namespace

int main() {
  try {
    a_busy_bank_is_called_again();
    nothing_is_shipped_within_a_day();
    a_crash_after_the_shipment_sends_no_second_parcel();
    a_failed_shipment_is_refunded();
    an_order_survives_a_crash_at_any_point();
  } catch (const TestFailure& failure) {
    std::cerr << failure.what() << "\n";
    return 1;
  }
  std::cout << "all tests passed\n";
}

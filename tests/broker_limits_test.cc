// The limit of messages in the accept path, on both stores. The numbers in the names are those of
// docs/delivery-tests.md.
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_limits_test {
namespace {

class BrokerLimits : public BrokerFixture {};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerLimits,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

class NoLimiter final : public RateLimiter {
 public:
  BudgetAnswer consume(const LimitedWorkspace&, const Digest&, TimeMs) override {
    return {BudgetAnswer::State::unavailable, 0};
  }
  void note_refused(const LimitedWorkspace&, const Digest&, TimeMs) override {}
};

TEST_P(BrokerLimits, RL_07_H_33_a_limiter_that_cannot_be_reached_is_503_and_nothing_is_inserted) {
  execute("UPDATE @.mesh SET rate_limit_per_window = 5");
  NoLimiter none;
  Broker broker(*store_, none, clock_, random_);
  const std::string before = all_tables();
  const auto reply = broker.accept("token-ann", request("m-1", "hello"));
  EXPECT_EQ(outcome_of(reply), "limiter_unavailable");
  EXPECT_EQ(rejection_info(Rejection::limiter_unavailable).http_status, 503);
  EXPECT_EQ(broker.counters().limiter_error, 1U);
  EXPECT_EQ(all_tables(), before);
}

TEST_P(BrokerLimits, RL_13_a_saturated_workspace_does_not_slow_another) {
  execute("UPDATE @.mesh SET rate_limit_per_window = 1");
  const Workspace other = add_workspace("other", 1);
  add_member(other.mesh_id, "eve");
  write([&](SqlSession& s) {
    return create_topic(s, {other.mesh_id, "alerts", {}, {}}, clock_.now());
  });
  must(send(request("m-1", "hello")));
  EXPECT_EQ(outcome_of(send(request("m-2", "hello"))), "rate_limited");
  MessageRequest elsewhere = request("m-1", "hello");
  elsewhere.mesh = "other";
  EXPECT_EQ(outcome_of(send("token-eve", elsewhere)), "created");
}

}  // namespace
}  // namespace holdfast::delivery::broker_limits_test

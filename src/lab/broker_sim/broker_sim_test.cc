// The simulator of brokers itself: the same seed is the same simulation, an item that is left out
// changes no other, and the oracle contradicts wrong answers and tables.
#include <gtest/gtest.h>

#include "lab/broker_sim/broker_oracle.h"
#include "lab/broker_sim/broker_simulation.h"
#include "lab/broker_sim/simulate_broker.h"

namespace holdfast::broker_sim_test {
namespace {

using namespace broker_sim;

TEST(BrokerSimulation, the_same_seed_leaves_the_same_trace) {
  const auto one = play_broker_seed(7, {});
  const auto two = play_broker_seed(7, {});
  EXPECT_EQ(one.trace.hash(), two.trace.hash());
  EXPECT_GT(one.trace.events(), 20U);
  EXPECT_NE(one.trace.hash(), play_broker_seed(8, {}).trace.hash());
  EXPECT_FALSE(one.violation.has_value()) << one.violation->what;
}

TEST(BrokerSimulation, a_part_of_a_plan_can_be_played) {
  const BrokerPlan plan = make_broker_plan(7);
  BrokerSimulateOptions options;
  options.only = {plan.items[0].number, plan.items[5].number};
  EXPECT_FALSE(play_broker_seed(7, options).violation.has_value());
  EXPECT_EQ(part_of(plan, options.only).items.size(), 2U);
}

class Oracle : public ::testing::Test {
 protected:
  Oracle() {
    oracle_.add_workspace("team", {.mesh_id = "w1",
                                   .limit = 1,
                                   .window_ms = 1000,
                                   .dedupe_days = 7,
                                   .message_days = 1,
                                   .inline_bytes = 100});
    oracle_.add_member("secret", {"ann", "w1", "key", "Ann", false});
    oracle_.add_topic("w1", "alerts", {});
    oracle_.subscribe("w1", "alerts", "ann", "writer");
    message_.token = "secret";
    message_.workspace = "team";
    message_.id = "m-1";
    message_.kind = "topic";
    message_.ref = "alerts";
    message_.body = "hello";
  }

  OracleRequest begin(std::int64_t now) {
    OracleRequest request;
    request.message = &message_;
    request.now = now;
    oracle_.begin(request);
    return request;
  }
  OracleRequest accepted(std::int64_t now) {
    OracleRequest request = begin(now);
    oracle_.budget(request, OracleBudget::admitted);
    oracle_.transact(request, "b-1", "h-1");
    return request;
  }
  std::string broken() const { return oracle_.broken().value_or(""); }

  BrokerOracle oracle_;
  SimMessage message_;
};

TEST_F(Oracle, accepts_a_right_answer_and_contradicts_a_wrong_one) {
  const OracleRequest request = accepted(5000);
  OracleAnswer answer{.status = 201,
                      .broker_message_id = "b-1",
                      .history_id = "h-1",
                      .first_seen_at = 5000,
                      .fanout = 1};
  oracle_.check_answer(request, answer);
  EXPECT_EQ(broken(), "");
  answer.history_id = "h-2";
  oracle_.check_answer(request, answer);
  EXPECT_NE(broken().find("the answer to m-1 is wrong"), std::string::npos);
}

TEST_F(Oracle, contradicts_an_answer_before_the_transaction_and_a_second_budget) {
  const OracleRequest request = begin(5000);
  oracle_.check_answer(request, {.status = 201});
  EXPECT_NE(broken().find("given before its checks"), std::string::npos);
}

TEST_F(Oracle, contradicts_a_limiter_that_admits_too_many) {
  accepted(5000);
  message_.id = "m-2";
  OracleRequest second = begin(5000);
  oracle_.budget(second, OracleBudget::admitted);
  EXPECT_NE(broken().find("has admitted a message that it must have denied"), std::string::npos);
}

TEST_F(Oracle, contradicts_a_limiter_that_is_consulted_for_a_known_message) {
  accepted(5000);
  OracleRequest again = begin(5000);
  oracle_.budget(again, OracleBudget::admitted);
  EXPECT_NE(broken().find("does not need it"), std::string::npos);
}

TEST_F(Oracle, contradicts_a_sweep_of_a_row_that_has_not_ended) {
  accepted(5000);
  oracle_.swept(6000, 10, {}, 1);
  EXPECT_NE(broken().find("whose window has not ended"), std::string::npos);
}

TEST_F(Oracle, contradicts_a_prune_of_a_message_that_waits_for_its_receiver) {
  accepted(5000);
  oracle_.pruned(3 * 86'400'000, 10, {}, 1);
  EXPECT_NE(broken().find("must be kept"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::broker_sim_test

#include "runs/api/run_requests.h"

#include <gtest/gtest.h>

#include <set>

#include "runs/api/operations.h"

namespace holdfast::run_requests_test {
namespace {

TEST(RunRequests, a_request_without_a_required_field_is_an_invalid_argument) {
  const auto body = request_json(SignalRequest{});
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(body.error().field("field"), "event");
}

TEST(RunRequests, bodies_omit_what_is_not_set) {
  StartRequest start;
  start.workflow = "order";
  start.idempotency_key = "k";
  EXPECT_EQ(request_json(start).value(), R"({"workflow":"order","idempotency_key":"k"})");
  EXPECT_EQ(request_json(CancelRequest{}).value(), R"({"mode":"as_defined"})");
  EXPECT_EQ(response_json(StartResponse{"r", false}), R"({"run_id":"r","existed":false})");
}

TEST(RunRequestsDeathTest, a_response_without_a_required_field_is_a_programmer_error) {
  EXPECT_DEATH(response_json(StartResponse{"", false}), "assertion failed");
}

TEST(Operations, have_ids_and_targets_of_their_own) {
  std::set<std::string_view> ids;
  std::set<std::pair<std::string_view, std::string_view>> targets;
  const auto check = [&](const Operation& operation) {
    EXPECT_TRUE(ids.insert(operation.id).second) << operation.id;
    EXPECT_TRUE(targets.emplace(operation.method, operation.path).second) << operation.path;
  };
  std::apply([&](const auto&... each) { (check(each), ...); }, kOperations);
}

TEST(Operations, are_found_by_the_request_type_of_a_query) {
  EXPECT_EQ(operation_of<GraphRequest>().id, "get_graph");
  EXPECT_EQ(operation_of<ExplainRequest>().id, "explain_run");
  EXPECT_EQ(operation_of<VersionsRequest>().id, "list_versions");
  EXPECT_EQ(operation_of<ApprovalsRequest>().id, "list_approvals");
}

}  // namespace
}  // namespace holdfast::run_requests_test

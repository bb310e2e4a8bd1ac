#include "apps/client/operation_call.h"

#include <gtest/gtest.h>

namespace holdfast::client::operation_call_test {
namespace {

TEST(OperationCall, parameters_of_the_path_are_filled_in_and_encoded) {
  EXPECT_EQ(path_of(operation::kGetServer), "/v1/server");
  EXPECT_EQ(path_of(operation::kCancelRun, {"a b"}), "/v1/runs/a%20b/cancel");
  EXPECT_EQ(path_of(operation::kPauseSchedule, {"order", "at/night"}),
            "/v1/schedules/order/at%2Fnight/pause");
}

TEST(OperationCall, members_without_a_value_are_not_sent) {
  EXPECT_EQ(target_of(ListRequest{}), "/v1/runs");
  EXPECT_EQ(target_of(GraphRequest{{"r", ""}}), "/v1/runs/r/graph");
  EXPECT_EQ(target_of(OutcomeRequest{"r", {}}), "/v1/runs/r/outcome");
}

TEST(OperationCall, members_become_query_parameters_in_the_order_of_the_list) {
  ListRequest list;
  list.workflow = "order";
  list.statuses = {"failed", "paused"};
  list.attributes = {"customer=ann & bob"};
  list.limit = 0;
  list.order = RunOrder::oldest;
  list.archived = true;
  EXPECT_EQ(target_of(list),
            "/v1/runs?workflow=order&status=failed&status=paused"
            "&attribute=customer%3Dann%20%26%20bob&limit=0&order=oldest&archived=true");
  EXPECT_EQ(target_of(GraphRequest{{"r", "10m"}, true, GraphForm::dot}),
            "/v1/runs/r/graph?at=10m&history=true&form=dot");
  EXPECT_EQ(target_of(WorkflowDiffRequest{{"order@1"}, "1", "2"}),
            "/v1/workflows/order%401/diff?from=1&to=2");
}

TEST(OperationCall, a_command_has_its_body) {
  ClaimWorkRequest claim;
  claim.worker.id = "w";
  claim.request = "1";
  claim.handlers = {SharedText("charge")};
  const ApiCall call = call_of(operation::kClaimWork, claim);
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.path, "/v1/work/claim");
  EXPECT_EQ(call.body, R"({"worker":{"id":"w"},"request":"1","handlers":["charge"],"max":1})");
}

}  // namespace
}  // namespace holdfast::client::operation_call_test

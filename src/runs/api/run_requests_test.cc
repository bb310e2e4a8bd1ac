// The field lists of the requests and responses are those of schema/openapi.json: the same members,
// in the same order, with the same required ones.
#include "runs/api/run_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/json_value.h"

namespace holdfast {
namespace {

using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

struct FieldNames {
  std::vector<std::string> all;
  std::vector<std::string> needed;

  template <typename T>
  void required(std::string_view name, const T& /*value*/) {
    all.emplace_back(name);
    needed.emplace_back(name);
  }
  template <typename T>
  void optional(std::string_view name, const T& /*value*/) {
    all.emplace_back(name);
  }
};

std::string_view member(std::string_view object, std::string_view name) {
  JsonSlicer members(object);
  while (const auto found = members.next()) {
    if (found->name == name) {
      return found->value;
    }
  }
  return "{}";
}

class OpenapiFields : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(HOLDFAST_OPENAPI_FILE);
    const std::string document(std::istreambuf_iterator<char>(file), {});
    const auto json = JsonText::parse(document);
    ASSERT_TRUE(json.ok());
    text_ = json.value().view();
    schemas_ = member(member(text_, "components"), "schemas");
  }

  template <HasFields T>
  void expect_same(std::string_view schema) {
    const std::string_view described = member(schemas_, schema);
    std::vector<std::string> all;
    JsonSlicer properties(member(described, "properties"));
    while (const auto property = properties.next()) {
      all.emplace_back(property->name);
    }
    std::vector<std::string> needed;
    JsonSlicer required(member(described, "required"));
    while (const auto name = required.next()) {
      needed.push_back(json_string_value(name->value).value_or(""));
    }
    const T value{};
    FieldNames fields;
    T::visit(value, fields);
    EXPECT_THAT(fields.all, ElementsAreArray(all)) << schema;
    EXPECT_THAT(fields.needed, UnorderedElementsAreArray(needed)) << schema;
  }

 private:
  std::string text_;
  std::string_view schemas_;
};

TEST_F(OpenapiFields, of_requests_match) {
  expect_same<StartRequest>("StartRun");
  expect_same<StartBatchRequest>("StartRuns");
  expect_same<CancelRequest>("CancelRun");
  expect_same<SignalRequest>("SignalRun");
  expect_same<DecisionRequest>("ResolveRun");
  expect_same<ReplayRequest>("ReplayRun");
  expect_same<AttributesRequest>("SetAttributes");
  expect_same<ArchiveRequest>("ArchiveRun");
  expect_same<UnarchiveRequest>("Nothing");
  expect_same<ScheduleRequest>("ChangeSchedule");
  expect_same<TriggerRequest>("TriggerSchedule");
  expect_same<RunFilterRequest>("RunFilter");
  expect_same<BulkRequest>("BulkRuns");
}

TEST_F(OpenapiFields, of_responses_match) {
  expect_same<StartResponse>("StartedRun");
  expect_same<BulkResponse>("BulkResult");
}

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

}  // namespace
}  // namespace holdfast

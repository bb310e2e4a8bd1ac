#include "runs/language/definition/workflow_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "runs/language/definition/language_fields.h"

namespace holdfast::workflow_schema_test {
namespace {

// After a change of the language: ninja -C build/release workflow_schema
TEST(WorkflowSchema, the_stored_document_is_the_one_that_is_written) {
  std::ifstream file(HOLDFAST_WORKFLOW_SCHEMA);
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(stored, workflow_schema()) << "run the build target workflow_schema";
}

TEST(WorkflowSchema, a_duration_is_found_by_both_of_its_names) {
  ASSERT_NE(kStepObject.find("lease"), nullptr);
  EXPECT_EQ(kStepObject.find("lease"), kStepObject.find("lease_ms"));
  EXPECT_EQ(kStepObject.find("queue_ms"), nullptr);
  EXPECT_EQ(kStepObject.find("leas"), nullptr);
}

}  // namespace
}  // namespace holdfast::workflow_schema_test

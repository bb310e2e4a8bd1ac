#include "runs/language/yaml/check_workflow.h"

#include <gtest/gtest.h>

namespace holdfast::check_workflow_test {
namespace {

// code@line:column of each fault
std::vector<std::string> faults_of(std::string_view text) {
  std::vector<std::string> out;
  for (const LocatedFault& fault : check_workflow(text).faults) {
    out.push_back(fault.fault.code + "@" + std::to_string(fault.location.line) + ":" +
                  std::to_string(fault.location.column));
  }
  return out;
}

using Faults = std::vector<std::string>;

constexpr std::string_view kGood =
    "workflow: orders\n"
    "version: \"2\"\n"
    "steps:\n"
    "  - name: charge\n"
    "    retry: {max_attempts: 3, delay: 1s}\n"
    "  - name: ship\n"
    "    after: charge\n";

TEST(CheckWorkflow, a_valid_text_is_a_definition) {
  const CheckedWorkflow checked = check_workflow(kGood);
  EXPECT_TRUE(checked.faults.empty());
  ASSERT_NE(checked.definition, nullptr);
  EXPECT_EQ(checked.definition->workflow(), "orders");
  EXPECT_EQ(checked.definition->steps().size(), 2U);
}

TEST(CheckWorkflow, equal_yaml_and_json_have_the_same_fingerprint) {
  const auto json =
      check_workflow(R"({"steps":[{"name":"charge","retry":{"delay_ms":1000,"max_attempts":3}},)"
                     R"({"name":"ship","after":["charge"]}],"version":"2","workflow":"orders"})");
  ASSERT_NE(json.definition, nullptr);
  EXPECT_EQ(json.definition->fingerprint(), check_workflow(kGood).definition->fingerprint());
}

TEST(CheckWorkflow, faults_have_locations_and_are_ordered_by_them) {
  EXPECT_EQ(
      faults_of("workflow: orders\n"
                "version: 2\n"
                "steps:\n"
                "  - name: charge\n"
                "    retires: 3\n"
                "    retry:\n"
                "      max_attempts: 0\n"
                "  - handler: x\n"
                "timeout: soon\n"),
      (Faults{"invalid_definition_version@2:1", "invalid_step_opts@5:5",
              "invalid_step_retry_max_attempts@7:7", "invalid_step_name@8:5", "invalid_spec@9:1"}));
}

TEST(CheckWorkflow, a_text_that_cannot_be_read_is_one_fault) {
  const CheckedWorkflow checked = check_workflow("workflow: [\n");
  ASSERT_EQ(checked.faults.size(), 1U);
  EXPECT_EQ(checked.definition, nullptr);
  EXPECT_EQ(checked.faults[0].fault.code, "invalid_spec");
  EXPECT_TRUE(checked.faults[0].fault.path.empty());
  EXPECT_EQ(checked.faults[0].location.line, 2U);
  EXPECT_EQ(checked.faults[0].fault.message.find("line"), std::string::npos);
}

TEST(CheckWorkflow, time_zones_must_exist) {
  const auto with_zone = [](std::string_view zone) {
    return "workflow: w\ntriggers:\n  - name: t\n    cron:\n      expression: '@daily'\n"
           "      timezone: " +
           std::string(zone) + "\nsteps: [{name: a}]\n";
  };
  EXPECT_EQ(faults_of(with_zone("Europe/Berlin")), Faults{});
  EXPECT_EQ(faults_of(with_zone("UTC")), Faults{});
  EXPECT_EQ(faults_of(with_zone("Europe/Bärlin")), Faults{"invalid_cron_timezone@6:7"});
  EXPECT_EQ(faults_of(with_zone("Europe/Berln")), Faults{"invalid_cron_timezone@6:7"});
  EXPECT_EQ(faults_of("workflow: w\ntriggers: {cron: 1}\nsteps: [{name: a}]\n"),
            Faults{"invalid_collection@2:1"});
}

TEST(CheckWorkflow, warns_about_steps_of_days_beside_days_of_the_week) {
  const auto warnings_of = [](std::string_view expression) {
    const CheckedWorkflow checked =
        check_workflow("workflow: w\ntriggers:\n  - name: t\n    cron:\n      expression: '" +
                       std::string(expression) + "'\n      timezone: UTC\nsteps: [{name: a}]\n");
    EXPECT_TRUE(checked.faults.empty()) << expression;
    std::vector<std::string> out;
    for (const LocatedFault& warning : checked.warnings) {
      out.push_back(warning.fault.code + "@" + std::to_string(warning.location.line) + ":" +
                    std::to_string(warning.location.column));
    }
    return out;
  };
  EXPECT_EQ(warnings_of("0 8 */2 * MON"), Faults{"cron_needs_both_days@5:7"});
  EXPECT_EQ(warnings_of("0 8 13 * */2"), Faults{"cron_needs_both_days@5:7"});
  for (const std::string_view expression :
       {"0 8 */2 * *", "0 8 * * MON", "0 8 1 * MON", "0 8 1-31/2 * MON", "0 8 */1 * MON",
        "0 */2 * * MON", "*/5 * 1 */2 *", "@weekly"}) {
    EXPECT_EQ(warnings_of(expression), Faults{}) << expression;
  }
}

TEST(CheckWorkflow, the_error_of_loading_has_a_line_for_each_fault) {
  const auto loaded =
      load_workflow("workflow: w\nsteps:\n  - name: a\n    after: b\n  - {}\n", "flows/w.yaml");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::invalid_definition);
  EXPECT_EQ(loaded.error().message(),
            "flows/w.yaml:4:5: steps[0].after[0]: step \"a\": after[0] names unknown step \"b\" "
            "(unknown_step_dependency)\n"
            "flows/w.yaml:5:5: steps[1].name: steps[1]: name is missing (invalid_step_name)");
  EXPECT_EQ(loaded.error().field("errors"),
            R"([{"path":["steps","0","after","0"],"code":"unknown_step_dependency",)"
            R"("message":"step \"a\": after[0] names unknown step \"b\"","line":4,"column":5},)"
            R"({"path":["steps","1","name"],"code":"invalid_step_name",)"
            R"("message":"steps[1]: name is missing","line":5,"column":5}])");
  EXPECT_TRUE(load_workflow(kGood, "w.yaml").ok());
}

}  // namespace
}  // namespace holdfast::check_workflow_test

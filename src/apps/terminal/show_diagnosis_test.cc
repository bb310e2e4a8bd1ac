#include <gtest/gtest.h>

#include "apps/terminal/show.h"
#include "tests/support/marked.h"

namespace holdfast::show_diagnosis_test {
namespace {

constexpr const char* kRun = "01982b7e-5c00-7000-8000-000000000001";

Diagnosis healthy() {
  Diagnosis diagnosis;
  diagnosis.checks = {
      {"wake_up_sources", "runs that nothing will advance", Check::Verdict::fault, 0, {}},
      {"manual_intervention", "runs that wait for a person", Check::Verdict::warning, 0, {}}};
  diagnosis.live_runs = 1;
  diagnosis.moment.now = TimeMs{1'800'000'000'000};
  return diagnosis;
}

Diagnosis ill() {
  Diagnosis diagnosis = healthy();
  diagnosis.live_runs = 1200;
  diagnosis.checks[0].count = 1;
  diagnosis.checks[0].findings = {{"", "", "the store has\nno writer", "holdfast work"}};
  diagnosis.checks[1].count = 23;
  diagnosis.checks[1].findings = {
      {kRun, "manager",
       "waits for approval manager, open since 2027-01-15T07:57:00.000Z (more than 1000 euros)",
       std::string("holdfast approve ") + kRun + " --step manager"}};
  return diagnosis;
}

TEST(ShowDiagnosis, nothing_wrong_is_said_in_a_few_lines) {
  EXPECT_EQ("\n" + show_diagnosis(healthy(), {}), R"(
ok       runs that nothing will advance: none
ok       runs that wait for a person: none

1 live run checked, as of 2027-01-15T08:00:00.000Z
ok: no problems found
)");
}

TEST(ShowDiagnosis, findings_come_with_what_to_type) {
  EXPECT_EQ("\n" + show_diagnosis(ill(), {.command_suffix = " --store x"}), R"(
FAULT    runs that nothing will advance: 1
         - the store has no writer
             holdfast work --store x
warning  runs that wait for a person: 23
         - run 01982b7e-5c00-7000-8000-000000000001, step manager: waits for approval manager, open
           since 2027-01-15T07:57:00.000Z (more than 1000 euros)
             holdfast approve 01982b7e-5c00-7000-8000-000000000001 --step manager --store x
         (and 22 more)

1,200 live runs checked, as of 2027-01-15T08:00:00.000Z
FAULT: 1 check found a fault, 1 warning
)");
}

TEST(ShowDiagnosis, verdicts_have_colours) {
  EXPECT_EQ("\n" + marked(show_diagnosis(ill(), {.colour = true})), R"(
{31}FAULT{}    runs that nothing will advance: {1}1{}
         - the store has no writer
             {36}holdfast work{}
{33}warning{}  runs that wait for a person: {1}23{}
         - run 01982b7e-5c00-7000-8000-000000000001, step manager: waits for approval manager, open
           since 2027-01-15T07:57:00.000Z (more than 1000 euros)
             {36}holdfast approve 01982b7e-5c00-7000-8000-000000000001 --step manager{}
         (and 22 more)

1,200 live runs checked, as of 2027-01-15T08:00:00.000Z
{31}FAULT{}: 1 check found a fault, 1 warning
)");
}

}  // namespace
}  // namespace holdfast::show_diagnosis_test

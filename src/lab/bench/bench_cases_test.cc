#include "lab/bench/bench_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace holdfast::bench_cases_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Context {
  std::function<void(std::string_view)> note = nullptr;
};
struct Trial {
  Context context;
  std::vector<std::string> measured = {};
};

constexpr std::array<BenchCase<Trial>, 2> kCases{{
    {"read", "reading",
     [](Trial& run) -> Result<void> {
       run.measured.emplace_back("read");
       return {};
     }},
    {"write", "writing",
     [](Trial& run) -> Result<void> {
       run.measured.emplace_back("write");
       return {};
     }},
}};

TEST(BenchCases, all_are_measured_in_order) {
  std::vector<std::string> notes;
  Trial run{{[&](std::string_view note) { notes.emplace_back(note); }}};
  EXPECT_TRUE(run_cases(kCases, "", run).ok());
  EXPECT_THAT(run.measured, ElementsAre("read", "write"));
  EXPECT_THAT(notes, ElementsAre("reading", "writing"));
}

TEST(BenchCases, one_is_measured_by_its_name) {
  Trial run;
  EXPECT_TRUE(run_cases(kCases, "write", run).ok());
  EXPECT_THAT(run.measured, ElementsAre("write"));
}

TEST(BenchCases, an_unknown_name_is_refused_before_anything_is_measured) {
  Trial run;
  const auto refused = run_cases(kCases, "seek", run);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(refused.error().message(), "unknown case \"seek\"; use one of: read, write");
  EXPECT_THAT(run.measured, IsEmpty());
}

}  // namespace
}  // namespace holdfast::bench_cases_test

// The main function of the test programs. A program contains the tests of several files; ctest runs
// the tests of each file in their own process:
//
//   PROGRAM --file=NAME_test.cc
//
// Without --file it runs all its tests. It accepts the options of GoogleTest, and exits with 2 if
// the file has no tests, if --file meets a filter, or if two tests have the same name.
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kUsageError = 2;
constexpr std::string_view kFileOption = "--file=";

struct NamedTest {
  std::string file;  // without its folder
  std::string name;  // Suite.test
};

std::vector<NamedTest> all_tests() {
  std::vector<NamedTest> tests;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      const std::string path = test.file();
      tests.push_back({.file = path.substr(path.rfind('/') + 1),
                       .name = std::string(suite.name()) + "." + test.name()});
    }
  }
  return tests;
}

int usage_error(const std::string& message) {
  std::cerr << "test program: " << message << "\n";
  return kUsageError;
}

// The filter that selects the tests of a file; empty if there are none.
std::string filter_of(const std::vector<NamedTest>& tests, std::string_view file) {
  std::string filter;
  for (const NamedTest& test : tests) {
    if (test.file == file) {
      filter += (filter.empty() ? "" : ":") + test.name;
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::vector<NamedTest> tests = all_tests();
  std::set<std::string_view> names;
  for (const NamedTest& test : tests) {
    if (!names.insert(test.name).second) {
      return usage_error(test.name + " in " + test.file + " is the name of another test too");
    }
  }
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kFileOption)) {
      return usage_error("unknown option \"" + std::string(argument) + "\"; use --file=NAME");
    }
    if (GTEST_FLAG_GET(filter) != "*") {
      return usage_error("use either --file or --gtest_filter");
    }
    const std::string_view file = argument.substr(kFileOption.size());
    const std::string filter = filter_of(tests, file);
    if (filter.empty()) {
      return usage_error("no test of \"" + std::string(file) + "\" is in this program");
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}

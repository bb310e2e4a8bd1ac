// Many runs in one process: its memory does not grow with the number of completed runs.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace holdfast::soak_test {
namespace {

// Sanitizers do not release freed memory, so with them the memory is not checked.
#ifdef HOLDFAST_SANITIZED
constexpr bool kCheckMemory = false;
#else
constexpr bool kCheckMemory = true;
#endif

struct Sample {
  double runs = 0;
  double rss = 0;
  double file = 0;
};

struct Soak {
  std::vector<Sample> samples;
  Sample closed;
  int exit_code = -1;
};

Soak soak(const std::string& path, std::size_t runs, std::size_t samples) {
  Soak found;
  std::string command = HOLDFAST_SOAK_WORKER;
  for (const std::string& word : {path, std::to_string(runs), std::to_string(samples)}) {
    command += " " + word;
  }
  FILE* output = popen(command.c_str(), "r");
  std::array<char, 256> bytes{};
  while (fgets(bytes.data(), bytes.size(), output) != nullptr) {
    std::string line = bytes.data();
    const bool closed = line.starts_with("closed ");
    std::istringstream words(closed ? line.substr(7) : line);
    Sample sample;
    words >> sample.runs >> sample.rss >> sample.file;
    if (closed) {
      found.closed = sample;
    } else {
      found.samples.push_back(sample);
    }
    std::cout << line;
  }
  found.exit_code = pclose(output);
  return found;
}

// The bytes of the file's pages that are in use.
double used_bytes(const std::string& path) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  const auto pragma = [&](const std::string& name) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db, ("PRAGMA " + name).c_str(), -1, &statement, nullptr),
              SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
  };
  const double used = (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
  sqlite3_close(db);
  return used;
}

// The slope of the best-fit line.
double growth_per_run(const std::vector<Sample>& samples) {
  double runs = 0;
  double rss = 0;
  for (const Sample& sample : samples) {
    runs += sample.runs / static_cast<double>(samples.size());
    rss += sample.rss / static_cast<double>(samples.size());
  }
  double above = 0;
  double below = 0;
  for (const Sample& sample : samples) {
    above += (sample.runs - runs) * (sample.rss - rss);
    below += (sample.runs - runs) * (sample.runs - runs);
  }
  return above / below;
}

TEST(Soak, many_runs_need_no_more_memory_than_few_and_little_space_each) {
  const bool long_run = std::getenv("HOLDFAST_LONG") != nullptr;
  const std::size_t runs = long_run ? 100'000 : 3'000;
  const TempDir dir;
  const Soak found = soak(dir.file("journal.db"), runs, 40);
  ASSERT_EQ(found.exit_code, 0);
  ASSERT_EQ(found.samples.size(), 40U);
  const std::vector<Sample> last_quarter(found.samples.end() - 10, found.samples.end());
  const double slope = growth_per_run(last_quarter);
  const double space = used_bytes(dir.file("journal.db")) / static_cast<double>(runs);
  std::cout << "memory grows by " << slope << " bytes per run; a sealed run takes " << space
            << " bytes\n";
  if (kCheckMemory) {
    // A quarter of all runs adds nothing that stands out from noise.
    EXPECT_LT(slope * static_cast<double>(runs) / 4, last_quarter.back().rss / 10);
    EXPECT_LT(last_quarter.back().rss, 100e6);
  }
  EXPECT_LT(space, 2'500);
  if (long_run) {
    // Sealing along the way frees space: the file is not much larger than its contents.
    EXPECT_LT(found.closed.file, 1.5 * used_bytes(dir.file("journal.db")));
  }
}

}  // namespace
}  // namespace holdfast::soak_test

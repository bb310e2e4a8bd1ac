#include "lab/bench/sample_entries.h"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::sample_entries_test {
namespace {

constexpr TimeMs kStart{1'767'225'600'000};

TEST(SampleEntries, are_about_250_bytes_each) {
  SampleEntries samples(1, kStart, 1000);
  const std::string body = sample_body(samples.commit(1024));
  EXPECT_NEAR(static_cast<double>(body.size()) / 1024, 250, 10);
}

TEST(SampleEntries, are_all_different_and_valid) {
  SampleEntries samples(1, kStart, 10);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const NewEntry entry = samples.entry();
    EXPECT_TRUE(check_new_entry(entry).ok());
    EXPECT_TRUE(seen.insert(std::string(entry.data.view())).second);
  }
}

TEST(SampleEntries, one_seed_gives_one_sequence) {
  SampleEntries left(7, kStart, 100);
  SampleEntries right(7, kStart, 100);
  EXPECT_EQ(sample_body(left.commit(50)), sample_body(right.commit(50)));
}

TEST(SampleEntries, a_body_can_be_decoded) {
  SampleEntries samples(1, kStart, 100);
  const std::string body = sample_body(samples.commit(10));
  BodyScanner scanner(Position{1}, body);
  while (true) {
    const auto entry = scanner.next();
    ASSERT_TRUE(entry.ok()) << entry.error().text();
    if (!entry.value().has_value()) {
      break;
    }
  }
  EXPECT_EQ(scanner.count(), 10U);
}

}  // namespace
}  // namespace holdfast::sample_entries_test

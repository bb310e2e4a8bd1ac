// Every version must read the journals of earlier versions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "storage/journal/journal_transfer.h"
#include "storage/journal/journal_verify.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_log.h"

namespace holdfast::compat_test {
namespace {

const std::string kFolder = HOLDFAST_COMPAT_FOLDER;

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<Journal> open(const std::string& path) {
  SystemClock clock;
  SystemRandom random;
  return must(open_journal("sqlite:" + path, OpenMode::write, clock, random));
}

class Format1 : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::copy(kFolder + "/journal-1.db", path_); }

  TempDir dir_;
  std::string path_ = dir_.file("journal.db");
};

TEST_F(Format1, is_read_completely) {
  const auto journal = open(path_);
  const VerifyReport report = must(verify_journal(journal->log()));
  EXPECT_EQ(report.entries, 13U);
  EXPECT_EQ(report.sealed_batches, 7U);
  EXPECT_EQ(to_hex(report.chain),
            "bb66449bae5afabc4e1af0328a083037fb9db7fa016a346ac4f6bd30c8c7f214");
  const auto entries = must(journal->load(thread("run:1")));
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].data, R"({"n":1,"text":"\u0000 äöü 🐙 \\ \""})");
  EXPECT_EQ(entries[3].at, TimeMs{1767225600010});
  std::ostringstream exported;
  must(export_journal(journal->log(), exported));
  EXPECT_EQ(exported.str(), slurp(kFolder + "/journal-1.jsonl"));
}

TEST_F(Format1, accepts_new_entries) {
  const auto journal = open(path_);
  EXPECT_EQ(must(journal->append(thread("run:1"), {entry("more")}, Revision{4})), Revision{5});
  must(journal->seal());
  EXPECT_EQ(must(verify_journal(journal->log())).entries, 14U);
}

TEST_F(Format1, an_imported_export_has_the_same_chain) {
  std::ifstream file(kFolder + "/journal-1.jsonl");
  const auto report = must(import_journal(file, "sqlite:" + dir_.file("imported.db")));
  EXPECT_EQ(to_hex(report.chain),
            "bb66449bae5afabc4e1af0328a083037fb9db7fa016a346ac4f6bd30c8c7f214");
}

}  // namespace
}  // namespace holdfast::compat_test

#include "apps/cli/rotating_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::cli::rotating_log_test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// In a process of its own: a log takes over standard output.
void in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RotatingLogs, LC_07_a_log_is_bounded_by_size_number_and_age) {
  const TempDir folder;
  const std::string path = folder.file("daemon.log");
  in_child([&] {
    RotatingLog log(path, {.file_bytes = 100, .old_files = 2});
    must(log.open());
    for (int i = 0; i < 40; ++i) {
      log.write("line number " + std::to_string(i) + "\n");
    }
  });
  EXPECT_LE(std::filesystem::file_size(path), 100U);
  EXPECT_LE(std::filesystem::file_size(path + ".1"), 100U);
  EXPECT_FALSE(std::filesystem::exists(path + ".3"));
  const std::string kept = text_of(path + ".2") + text_of(path + ".1") + text_of(path);
  EXPECT_TRUE(kept.ends_with("line number 38\nline number 39\n"));
  EXPECT_EQ(kept.find("line number 3\n"), std::string::npos);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);

  const utimbuf long_ago{1000, 1000};
  ASSERT_EQ(::utime((path + ".1").c_str(), &long_ago), 0);
  in_child([&] {
    RotatingLog log(path, {.file_bytes = 100, .old_files = 2});
    must(log.open());
    log.write(std::string(100, 'x') + "\n");
  });
  EXPECT_FALSE(std::filesystem::exists(path + ".2")) << "older than 14 days";
}

TEST(RotatingLogs, what_else_the_process_prints_is_in_the_log) {
  const TempDir folder;
  const std::string path = folder.file("daemon.log");
  in_child([&] {
    RotatingLog log(path);
    must(log.open());
    log.write("one\n");
    if (::write(STDERR_FILENO, "two\n", 4) != 4) {
      _exit(1);
    }
  });
  EXPECT_EQ(text_of(path), "one\ntwo\n");
}

}  // namespace
}  // namespace holdfast::cli::rotating_log_test

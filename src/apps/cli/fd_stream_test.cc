#include "apps/cli/fd_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace holdfast::cli::fd_stream_test {
namespace {

TEST(FdStream, writes_everything_in_order) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  FdStream out(ends[1]);
  out << "one " << 2 << '\n' << std::flush;
  std::array<char, 64> got{};
  const ssize_t count = read(ends[0], got.data(), got.size());
  EXPECT_EQ(std::string(got.data(), static_cast<std::size_t>(count)), "one 2\n");
  close(ends[0]);
  close(ends[1]);
}

TEST(FdStream, a_long_text_is_written_in_pieces) {
  const std::string path = testing::TempDir() + "fd_stream_test";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(file, 0);
  FdStream out(file);
  for (int i = 0; i < 100'000; ++i) {
    out << i << '\n';
  }
  out.flush();
  EXPECT_TRUE(out.good());
  EXPECT_EQ(lseek(file, 0, SEEK_END), 588'890);
  close(file);
  unlink(path.c_str());
}

TEST(FdStream, keeps_the_reason_of_a_failed_write) {
  signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  FdStream closed_pipe(ends[1]);
  closed_pipe << "lost" << std::flush;
  EXPECT_FALSE(closed_pipe.good());
  EXPECT_EQ(closed_pipe.failure(), EPIPE);
  close(ends[1]);

  const int full = open("/dev/full", O_WRONLY);
  FdStream full_disk(full);
  full_disk << "lost" << std::flush;
  EXPECT_EQ(full_disk.failure(), ENOSPC);
  close(full);
}

}  // namespace
}  // namespace holdfast::cli::fd_stream_test

#include "base/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>

namespace holdfast::threads_test {
namespace {

// While it exists no thread can be started: no address space can hold such a stack.
class HugeStacks {
 public:
  HugeStacks() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge{};
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47U);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~HugeStacks() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  HugeStacks(const HugeStacks&) = delete;
  HugeStacks& operator=(const HugeStacks&) = delete;

 private:
  pthread_attr_t before_{};
};

TEST(ThreadGroup, runs_every_body_and_join_waits_for_all_of_them) {
  std::atomic<int> ran = 0;
  ThreadGroup threads;
  ASSERT_TRUE(threads.start(3, [&] { ++ran; }).ok());
  ASSERT_TRUE(threads.start({[&] { ran += 10; }, [&] { ran += 100; }}).ok());
  threads.join();
  EXPECT_EQ(ran, 113);
  EXPECT_TRUE(threads.empty());
}

TEST(ThreadGroup, starting_no_threads_succeeds) {
  ThreadGroup threads;
  EXPECT_TRUE(threads.start(0, [] {}).ok());
  EXPECT_TRUE(threads.empty());
}

TEST(ThreadGroup, a_thread_that_cannot_be_started_is_an_error_and_no_body_runs) {
  std::atomic<int> ran = 0;
  ThreadGroup threads;
  Result<void> started;
  {
    const HugeStacks limit;
    started = threads.start(50, [&] { ++ran; });
  }
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code(), ErrorCode::io_error);
  EXPECT_EQ(started.error().what_next(), WhatNext::retry);
  EXPECT_EQ(started.error().field("threads"), "50");
  EXPECT_TRUE(threads.empty());
  EXPECT_EQ(ran, 0);
  ASSERT_TRUE(threads.start([&] { ++ran; }).ok());
  threads.join();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace holdfast::threads_test

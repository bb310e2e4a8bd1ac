#include "apps/server/readers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/support/must.h"

namespace holdfast::readers_test {
namespace {

// Work that blocks until the gate is opened.
class Gate {
 public:
  std::function<void()> work() {
    return [this] {
      ++inside;
      open_.get_future().wait();
    };
  }
  void open() { open_.set_value(); }
  void wait_until_inside() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    ASSERT_EQ(inside, 1);
  }
  std::atomic<int> inside = 0;

 private:
  std::promise<void> open_;
};

TEST(Readers, execute_all_accepted_work) {
  std::atomic<int> done = 0;
  {
    Readers readers(3, 1000);
    for (int i = 0; i < 500; ++i) {
      must(readers.run([&] { ++done; }));
    }
  }
  EXPECT_EQ(done, 500) << "including the work that was queued at the stop";
}

TEST(Readers, refuse_work_when_the_queue_is_full) {
  Readers readers(1, 2);
  Gate gate;
  std::atomic<int> done = 0;
  must(readers.run(gate.work()));
  gate.wait_until_inside();
  must(readers.run([&] { ++done; }));
  must(readers.run([&] { ++done; }));
  const auto third = readers.run([&] { done += 100; });
  EXPECT_EQ(code_of(third), "busy");
  EXPECT_EQ(third.error().what_next(), WhatNext::retry);
  gate.open();
  readers.stop();
  EXPECT_EQ(done, 2) << "refused work is not executed";
}

TEST(Readers, execute_work_concurrently) {
  Readers readers(2, 10);
  Gate slow;
  must(readers.run(slow.work()));
  slow.wait_until_inside();
  std::promise<void> quick;
  must(readers.run([&] { quick.set_value(); }));
  EXPECT_EQ(quick.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  slow.open();
}

TEST(Readers, refuse_work_after_a_stop) {
  Readers readers(1, 10);
  readers.stop();
  EXPECT_EQ(code_of(readers.run([] { ADD_FAILURE(); })), "busy");
  readers.stop();
}

}  // namespace
}  // namespace holdfast::readers_test

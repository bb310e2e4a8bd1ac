#include "delivery/broker/commit_notifier.h"

#include <gtest/gtest.h>

#include "base/threads.h"
#include "tests/support/must.h"

namespace holdfast::delivery::commit_notifier_test {
namespace {

using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

TEST(CommitNotifier, wakes_a_thread_that_waits) {
  CommitNotifier commits;
  const std::uint64_t seen = commits.count();
  ThreadGroup committer;
  must(committer.start([&] { commits.notify(); }));
  EXPECT_EQ(commits.wait_beyond(seen, SteadyClock::now() + seconds(120)), seen + 1);
}

TEST(CommitNotifier, does_not_wait_for_what_has_happened) {
  CommitNotifier commits;
  const std::uint64_t seen = commits.count();
  commits.notify();
  commits.notify(CommitOrigin::remote);
  EXPECT_EQ(commits.wait_beyond(seen, SteadyClock::time_point::max()), seen + 2);
}

TEST(CommitNotifier, returns_at_the_deadline) {
  CommitNotifier commits;
  EXPECT_EQ(commits.wait_beyond(commits.count(), SteadyClock::now()), 0U);
}

TEST(CommitNotifier, calls_its_watchers_while_they_exist) {
  CommitNotifier commits;
  std::vector<CommitOrigin> origins;
  {
    const CommitWatcher watcher(commits, [&](CommitOrigin origin) { origins.push_back(origin); });
    commits.notify();
    commits.notify(CommitOrigin::remote);
  }
  commits.notify();
  EXPECT_EQ(origins, (std::vector{CommitOrigin::local, CommitOrigin::remote}));
}

}  // namespace
}  // namespace holdfast::delivery::commit_notifier_test

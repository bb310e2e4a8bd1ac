// Workers, and the database under them, are killed at any time. Everything they acknowledged stays
// true.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/faults/ledger_site.h"

namespace holdfast::kill_loop_test {
namespace {

bool long_run() { return std::getenv("HOLDFAST_LONG") != nullptr; }

// Keeps two workers running, like a supervisor.
class Supervisor {
 public:
  Supervisor(LedgerSite& site, std::uint64_t seed) : site_(site), random_(seed) {
    for (int i = 0; i < 2; ++i) {
      workers_.push_back(site_.worker("start", kRuns));
    }
  }
  // Lets the workers run for a while; replaces those that have ended.
  void run_for_a_while() {
    for (auto& worker : workers_) {
      if (random_.below(4) > 0) {
        worker->wait_for_lines(1, std::chrono::seconds(30));  // most get as far as their start
      }
      if (!worker->runs_for(Milliseconds(5 + random_.below(110)))) {
        EXPECT_EQ(worker->wait_for_exit(std::chrono::seconds(10)), kStoreFailed)
            << site_.error_text();
        ++failures_;
        worker = site_.worker("start", kRuns);
      }
    }
  }
  void kill_one() {
    auto& unlucky = workers_[random_.below(workers_.size())];
    unlucky->kill_9();
    ++kills_;
    unlucky = site_.worker("start", kRuns);
  }
  // The number of kills, and of workers that exited because the store was unavailable.
  [[nodiscard]] int kills() const { return kills_; }
  [[nodiscard]] int failures() const { return failures_; }
  Random& random() { return random_; }

 private:
  // Each worker starts a few runs and then executes what is visible.
  static constexpr std::size_t kRuns = 12;

  LedgerSite& site_;
  SeededRandom random_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  int kills_ = 0;
  int failures_ = 0;
};

TEST(KillLoop, workers_on_sqlite_keep_what_they_acknowledged) {
  LedgerSite site;
  const int kills = long_run() ? 500 : 40;
  {
    Supervisor supervisor(site, 40);
    while (supervisor.kills() < kills && !testing::Test::HasFailure()) {
      supervisor.run_for_a_while();
      supervisor.kill_one();
    }
    EXPECT_EQ(supervisor.failures(), 0) << site.error_text();
  }
  site.drain();
  EXPECT_GT(expect_ledger_kept(site), 20U);
  EXPECT_GT(site.lines("completed").size(), 20U);
}

TEST(KillLoop, workers_on_postgres_keep_what_they_acknowledged_when_the_server_is_killed_too) {
  const auto cluster = must(PostgresCluster::create({}));
  must(cluster->start());
  LedgerSite site(cluster->url("kill_loop"));
  const int kills = long_run() ? 500 : 25;
  int server_kills = 0;
  {
    Supervisor supervisor(site, 41);
    while (supervisor.kills() + server_kills < kills && !testing::Test::HasFailure()) {
      supervisor.run_for_a_while();
      if (supervisor.random().below(5) > 0) {
        supervisor.kill_one();
        continue;
      }
      cluster->kill_9();
      ++server_kills;
      must(cluster->start());
    }
    // Workers continue when the server returns; only one that is opening its store gives up.
    std::cout << supervisor.kills() << " workers and " << server_kills << " servers killed, "
              << supervisor.failures() << " workers gave up\n";
  }
  EXPECT_GT(server_kills, 0);
  site.drain();
  EXPECT_GT(expect_ledger_kept(site), 20U);
  EXPECT_GT(site.lines("completed").size(), 20U);
}

}  // namespace
}  // namespace holdfast::kill_loop_test

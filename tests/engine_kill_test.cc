// Workers that are killed at any time lose nothing and apply nothing twice.
#include <gtest/gtest.h>

#include <cstdlib>

#include "storage/journal/journal_keys.h"
#include "tests/support/engine_crash.h"

namespace holdfast::engine_kill_test {
namespace {

int kills() { return std::getenv("HOLDFAST_LONG") != nullptr ? 500 : 50; }

// Caches may be lost at any time while no process works.
void lose_caches(CrashSite& site, Random& random) {
  auto journal = site.open();
  if (random.below(2) == 0) {
    must(journal->delete_checkpoint(thread("engine:live")));
  }
  if (random.below(3) == 0) {
    must(journal->log().update(
        SideUpdate{.puts = {}, .deletes = {std::string(kDirectoryKey)}, .trim = {}}));
  }
  const auto runs = CrashSite::lines(site.acks);
  for (int i = 0; i < 3 && !runs.empty(); ++i) {
    const auto id = must(parse_run_id(runs[random.below(runs.size())]));
    must(journal->delete_checkpoint(run_thread(id)));
  }
}

void kill_again_and_again(CrashSite& site, std::uint64_t seed) {
  SeededRandom random(seed);
  // More kills where workers are so slow that most die before they acknowledge anything.
  const auto enough = [&] { return CrashSite::lines(site.acks).size() > 10; };
  for (int kill = 0;
       (kill < kills() || (kill < 10 * kills() && !enough())) && !testing::Test::HasFailure();
       ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    auto worker = site.worker("start", 1 + static_cast<int>(random.below(3)), 40);
    const Milliseconds life(5 + random.below(296));
    EXPECT_TRUE(worker->runs_for(life)) << "the worker ended before it was killed";
    if (random.below(8) == 0) {
      worker->request_stop();
      EXPECT_EQ(worker->wait_for_exit(std::chrono::seconds(30)), 0);
    } else {
      worker->kill_9();
    }
    if (random.below(3) == 0) {
      lose_caches(site, random);
    }
  }
  site.drain();
  expect_exactly_once(site);
  EXPECT_TRUE(enough());
}

TEST(EngineKill, workers_on_sqlite_lose_nothing_and_apply_nothing_twice) {
  CrashSite site;
  kill_again_and_again(site, 1);
}

TEST(EngineKill, workers_on_postgres_lose_nothing_and_apply_nothing_twice) {
  CrashSite site(PostgresCluster::shared().url("engine_kill"));
  kill_again_and_again(site, 2);
}

}  // namespace
}  // namespace holdfast::engine_kill_test

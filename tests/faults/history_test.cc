// Several processes perform random operations on the same runs and attempts, and some are killed.
// One order must explain every answer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/faults/attempt_model.h"
#include "tests/faults/run_model.h"
#include "tests/support/engine_crash.h"

namespace holdfast::history_test {
namespace {

// A history lasts at least this long and has at least this size.
struct HistorySize {
  std::int64_t ms;
  std::uintmax_t bytes;
};
HistorySize history_size() {
  return std::getenv("HOLDFAST_LONG") != nullptr ? HistorySize{120'000, 5'000'000}
                                                 : HistorySize{2'500, 300'000};
}

struct HistorySite {
  explicit HistorySite(std::string store_url = "") : url(std::move(store_url)) {
    if (url.empty()) {
      url = "sqlite:" + dir.file("journal.db");
    }
  }
  struct Client {
    std::string name;
    std::unique_ptr<WorkerProcess> process;
  };
  [[nodiscard]] Client client(const std::string& mode) {
    const std::string name = std::to_string(++clients);
    return {name,
            std::make_unique<WorkerProcess>(std::vector<std::string>{
                HOLDFAST_HISTORY_CLIENT, url, file, mode, std::to_string(first_ns), name, "2"})};
  }
  // Three clients at a time. Two of three are killed, the others stop in order.
  void make_history(const std::string& mode, std::uint64_t seed) {
    SeededRandom random(seed);
    std::vector<Client> running;
    for (int i = 0; i < 3; ++i) {
      running.push_back(client(mode));
    }
    while (!long_enough()) {
      auto& one = running[random.below(running.size())];
      if (random.below(4) > 0) {
        one.process->wait_for_lines(1, std::chrono::seconds(30));  // most get as far as their start
      }
      ASSERT_TRUE(one.process->runs_for(Milliseconds(30 + random.below(250))))
          << "the client ended before it was stopped";
      if (random.below(3) > 0) {
        one.process->kill_9();
        history.dead(one.name);
        ++kills;
      } else {
        one.process->request_stop();
        EXPECT_EQ(one.process->wait_for_exit(std::chrono::seconds(30)), 0);
      }
      one = client(mode);
    }
    for (const auto& one : running) {
      one.process->request_stop();
    }
    for (const auto& one : running) {
      EXPECT_EQ(one.process->wait_for_exit(std::chrono::seconds(30)), 0);
    }
  }

  [[nodiscard]] bool long_enough() const {
    const std::int64_t ms = (clock_ns(CLOCK_MONOTONIC) - first_ns) / 1'000'000;
    const HistorySize wanted = history_size();
    return ms >= 20 * wanted.ms ||
           (ms >= wanted.ms && std::filesystem::file_size(file) >= wanted.bytes);
  }

  TempDir dir;
  std::string url;
  std::string file = dir.file("history");
  HistoryFile history{file};
  std::int64_t first_ns = clock_ns(CLOCK_MONOTONIC);
  int clients = 0;
  int kills = 0;
};

// Returns how often each answer was given, by verb; checks that one order explains all of them.
template <typename Model>
std::map<std::string, std::size_t> expect_linearizable(const HistorySite& site) {
  const auto objects = read_history<Model>(site.file);
  std::map<std::string, std::size_t> answers;
  std::size_t calls = 0;
  for (const auto& [name, history] : objects) {
    for (const Call<Model>& call : history) {
      ++calls;
      const std::string word = call.answer.has_value() ? call.answer->word : "?";
      ++answers[call.op.verb + " " + word];
      ++answers["any " + word];
    }
  }
  const HistoryVerdict verdict = check_histories(objects);
  EXPECT_EQ(verdict.kind, HistoryVerdict::Kind::linearizable) << verdict.report;
  std::cout << objects.size() << " histories, " << calls << " operations, " << site.kills
            << " kills, " << verdict.examined << " states examined\n";
  for (const auto& [what, count] : answers) {
    std::cout << "  " << count << " " << what << "\n";
  }
  return answers;
}

// A history without variety proves nothing.
void expect_rich(const std::map<std::string, std::size_t>& answers,
                 const std::vector<std::string>& wanted) {
  for (const std::string& what : wanted) {
    EXPECT_TRUE(answers.contains(what)) << "never seen: " << what;
  }
}

void share_runs(HistorySite&& site) {
  site.make_history("run", 30);
  expect_rich(expect_linearizable<RunModel>(site),
              {"start ok", "signal ok", "approve ok", "cancel ok", "read ok", "read run_not_found",
               "signal terminal_run", "approve run_not_found"});
}

void share_attempts(HistorySite&& site) {
  site.make_history("attempt", 31);
  // expired_claim is not demanded: a fast machine reports before a lease ends.
  expect_rich(expect_linearizable<AttemptModel>(site),
              {"start ok", "claim ok", "claim active_claim", "claim_next ok", "complete ok",
               "fail ok", "heartbeat ok", "heartbeat stale_claim", "read ok"});
}

TEST(History, of_runs_on_sqlite_is_linearizable) { share_runs(HistorySite()); }

TEST(History, of_runs_on_postgres_is_linearizable) {
  share_runs(HistorySite(PostgresCluster::shared().url("history_runs")));
}

TEST(History, of_attempts_on_sqlite_is_linearizable) { share_attempts(HistorySite()); }

TEST(History, of_attempts_on_postgres_is_linearizable) {
  share_attempts(HistorySite(PostgresCluster::shared().url("history_attempts")));
}

}  // namespace
}  // namespace holdfast::history_test

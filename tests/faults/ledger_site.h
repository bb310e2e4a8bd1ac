// A store, the worker processes on it (tests/faults/ledger_worker.cc) and their ledger, and the
// final checks of all three.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/faults/ledger_workflow.h"
#include "tests/support/engine_crash.h"

namespace holdfast {

inline constexpr int kStoreFailed = 3;  // the exit code of a worker

struct LedgerSite {
  explicit LedgerSite(std::string store_url = "") : url(std::move(store_url)) {
    if (url.empty()) {
      url = "sqlite:" + dir.file("journal.db");
    }
  }
  [[nodiscard]] std::unique_ptr<WorkerProcess> worker(const std::string& mode = "start",
                                                      std::size_t runs = 1'000'000) const {
    return std::make_unique<WorkerProcess>(
        std::vector<std::string>{HOLDFAST_LEDGER_WORKER, url, ledger, "2", mode,
                                 std::to_string(runs), clock_file},
        errors);
  }
  // A worker finishes all runs.
  void drain() const {
    EXPECT_EQ(worker("drain")->wait_for_exit(std::chrono::seconds(120)), 0) << error_text();
  }
  // What workers wrote to standard error before they gave up.
  [[nodiscard]] std::string error_text() const {
    std::ifstream file(errors);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The words of each line of that kind.
  [[nodiscard]] std::vector<std::vector<std::string>> lines(const std::string& kind) const {
    std::ifstream file(ledger);
    std::vector<std::vector<std::string>> found;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string first;
      words >> first;
      if (first == kind) {
        found.emplace_back(std::istream_iterator<std::string>(words),
                           std::istream_iterator<std::string>());
      }
    }
    return found;
  }

  TempDir dir;
  std::string url;
  std::string ledger = dir.file("ledger");
  std::string errors = dir.file("errors");
  std::string clock_file = "-";
};

// Every completion in the journal: how many each attempt has, and by which claims.
struct Completions {
  std::map<std::string, std::set<std::string>> claims;
  std::map<std::string, int> count;
};

inline Completions completions_of(Log& log) {
  Completions found;
  must(log.refresh());
  History history(log);
  for (;;) {
    const auto batches = must(history.next());
    if (batches.empty()) {
      return found;
    }
    for (const Batch& batch : batches) {
      BodyScanner scanner(batch.position, batch.body);
      while (const auto entry = must(scanner.next())) {
        const auto fact = dispatch_fact(entry->kind, entry->data);
        if (fact.ok() && std::holds_alternative<AttemptCompleted>(fact.value())) {
          const auto& completed = std::get<AttemptCompleted>(fact.value());
          found.claims[completed.runnable_key.str()].insert(completed.claim_id.str());
          ++found.count[completed.runnable_key.str()];
        }
      }
    }
  }
}

inline void expect_every_step_once(const RunProjection& run) {
  EXPECT_EQ(run.status(), RunStatus::completed) << to_string(run.run_id());
  std::map<std::string, int> applied;
  for (const PlannedRunnable* planned : run.runnables()) {
    applied[planned->plan.step.str()] += planned->applied ? 1 : 0;
  }
  const std::map<std::string, int> once{{"a", 1}, {"b", 1}, {"d", 1}, {"e", 1},
                                        {"f", 1}, {"g", 1}, {"w", 1}};
  EXPECT_EQ(applied, once) << to_string(run.run_id());
}

inline void expect_ledger_in(const LedgerSite& site, const Audit& found, Log& log) {
  for (const auto& words : site.lines("started")) {
    EXPECT_TRUE(found.runs.contains(must(parse_run_id(words[0])))) << "lost start: " << words[0];
  }
  for (const auto& words : site.lines("signalled")) {
    const auto run = found.runs.find(must(parse_run_id(words[0])));
    ASSERT_NE(run, found.runs.end()) << "lost run of an event: " << words[0];
    EXPECT_TRUE(run->second->received_event_keys().contains("go")) << "lost event: " << words[0];
  }
  const Completions completions = completions_of(log);
  for (const auto& [key, count] : completions.count) {
    EXPECT_EQ(count, 1) << "completed more than once: " << key;
  }
  for (const auto& words : site.lines("completed")) {
    const auto stored = completions.claims.find(words[0]);
    ASSERT_NE(stored, completions.claims.end()) << "lost completion: " << words[0];
    EXPECT_TRUE(stored->second.contains(words[1])) << "another claim completed " << words[0];
  }
  for (const auto& words : site.lines("refused")) {
    const auto stored = completions.claims.find(words[0]);
    EXPECT_FALSE(stored != completions.claims.end() && stored->second.contains(words[1]))
        << "refused but completed: " << words[0];
  }
  std::set<std::string> claims;
  for (const auto& words : site.lines("claimed")) {
    EXPECT_TRUE(claims.insert(words[1]).second) << "one claim was executed twice: " << words[0];
    EXPECT_TRUE(found.claims.contains(words[1]))
        << "executed without a durable claim: " << words[0];
  }
}

inline void expect_healthy(const std::string& url) {
  WorkerProcess doctor({HOLDFAST_PROGRAM, "doctor", "--store", url});
  EXPECT_EQ(doctor.wait_for_exit(std::chrono::seconds(60)), 0) << "the doctor found a fault";
  WorkerProcess verify({HOLDFAST_PROGRAM, "journal", "verify", url});
  EXPECT_EQ(verify.wait_for_exit(std::chrono::seconds(60)), 0) << "the journal is damaged";
}

// Nothing acknowledged is lost, and every step is completed exactly once. Returns the number of
// runs.
inline std::size_t expect_ledger_kept(const LedgerSite& site) {
  SystemClock clock;
  SystemRandom random;
  std::size_t runs = 0;
  {
    const auto journal = must(open_journal(site.url, OpenMode::create, clock, random));
    const Audit found = audit(journal->log());
    EXPECT_THAT(found.anomalies(), testing::IsEmpty());
    for (const auto& [id, run] : found.runs) {
      expect_every_step_once(*run);
    }
    expect_ledger_in(site, found, journal->log());
    runs = found.runs.size();
  }
  expect_healthy(site.url);
  std::cout << runs << " runs, " << site.lines("started").size() << " starts, "
            << site.lines("signalled").size() << " events and " << site.lines("completed").size()
            << " completions acknowledged, " << site.lines("refused").size() << " refused\n";
  return runs;
}

}  // namespace holdfast

// Runs that are read again while the journal grows are the same as when they are read anew.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "runs/inspect/inspector.h"
#include "runs/inspect/stored_run.h"
#include "runs/view/run_snapshot.h"
#include "tests/support/engine_story.h"

namespace holdfast::stored_runs_test {
namespace {

std::unique_ptr<Journal> story() {
  const auto disk = std::make_shared<MemoryDisk>();
  EngineStory(disk).write();
  return open_memory_journal(disk);
}

// The runs of a journal in the order in which they appear, with the position of their first fact.
std::map<RunId, Position> runs_of(Journal& journal) {
  std::map<RunId, Position> runs;
  History history(journal.log(), Position{1});
  for (;;) {
    const auto batches = must(history.next());
    if (batches.empty()) {
      return runs;
    }
    for (const Batch& batch : batches) {
      BodyScanner scanner(batch.position, batch.body);
      while (const auto entry = must(scanner.next())) {
        if (entry->thread.starts_with("run:")) {
          runs.emplace(must(parse_run_id(entry->thread.substr(4))), batch.position);
        }
      }
    }
  }
}

// The run, its attempts, and what was ignored.
std::string state_of(const StoredRun& stored, Position position) {
  const RunSource source = stored.source(position, kStart);
  std::string state(run_snapshot(source).view());
  for (const auto& [name, queue] : stored.queues) {
    state += name.str() + std::to_string(queue->attempts().size());
    for (const Anomaly& anomaly : queue->anomalies()) {
      state += anomaly.reason.str();
    }
  }
  return state + (stored.run->definition() == nullptr ? "" : " with definition");
}

// Calls `check` for each run at its positions, some at a time.
void at_positions(Journal& journal, std::uint64_t step,
                  const std::function<void(const RunId&, Position)>& check) {
  const Position head = must(journal.catch_up());
  for (const auto& [id, first] : runs_of(journal)) {
    for (Position last = first; last <= head; last = Position{last.value + step}) {
      check(id, last);
    }
  }
}

TEST(StoredRuns, reading_on_is_the_same_as_reading_anew) {
  const auto journal = story();
  for (const std::uint64_t step : {1U, 5U}) {
    StoredRuns runs(*journal);
    at_positions(*journal, step, [&](const RunId& id, Position last) {
      const StoredRun* const known = must(runs.read(id, last));
      EXPECT_EQ(state_of(*known, last), state_of(must(read_stored_run(*journal, id, last)), last))
          << to_string(id) << " at " << last.value;
    });
  }
}

TEST(StoredRuns, an_inspector_that_is_kept_explains_as_a_new_one) {
  const auto journal = story();
  ManualClock clock{kStart};
  Inspector kept(*journal, clock);
  at_positions(*journal, 5, [&](const RunId& id, Position last) {
    const At at{At::Kind::position, last.value};
    EXPECT_EQ(to_json(must(kept.explain(id, at))).view(),
              to_json(must(Inspector(*journal, clock).explain(id, at))).view());
  });
}

TEST(StoredRuns, an_earlier_position_is_read_anew) {
  const auto journal = story();
  const Position head = must(journal->catch_up());
  StoredRuns runs(*journal);
  for (const auto& [id, first] : runs_of(*journal)) {
    must(runs.read(id, head));
    EXPECT_EQ(state_of(*must(runs.read(id, first)), first),
              state_of(must(read_stored_run(*journal, id, first)), first));
    if (first > Position{1}) {
      EXPECT_EQ(runs.read(id, Position{first.value - 1}).error().code(), ErrorCode::run_not_found);
    }
  }
}

}  // namespace
}  // namespace holdfast::stored_runs_test

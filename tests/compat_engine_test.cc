// What earlier versions of the engine have written must be read for ever.
//
//   compat_engine_test --write FOLDER
//
// writes the files of today's version into FOLDER. That is for a new format: files that are in
// tests/compat already are never replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/engine_story.h"
#include "tests/support/journal_audit.h"
#include "tests/support/journal_files.h"
#include "tests/support/temp_dir.h"
#include "workflow/listing.h"

namespace holdfast {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

const std::string kFolder = HOLDFAST_COMPAT_FOLDER;
constexpr std::int64_t kMuchLaterMs = 1'000'000;

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<Journal> open(const std::string& path) {
  SystemClock clock;
  SystemRandom random;
  return must(open_journal("sqlite:" + path, OpenMode::write, clock, random));
}

std::string listing_of(Journal& journal, const ThreadId& thread, RunListing listing) {
  for (const Entry& entry : must(journal.load(thread))) {
    listing.fold(entry);
  }
  return listing.encode();
}

// What every thread folds to, a line each.
std::string states_of(Journal& journal) {
  const Audit all = audit(journal.log());
  std::string text;
  const auto add = [&text](const std::string& thread, const std::string& state) {
    text += R"({"thread":")" + thread + R"(","state":)" + state + "}\n";
  };
  for (const auto& [id, run] : all.runs) {
    add(run_thread(id).text(), run->encode());
  }
  for (const auto& [name, queue] : all.queues) {
    add(dispatch_thread(name.view()).text(), queue->encode());
  }
  const ThreadId index = index_thread("short");
  add(index.text(), listing_of(journal, index, RunListing::index("short")));
  add(catalog_thread().text(), listing_of(journal, catalog_thread(), RunListing::catalog()));
  return text;
}

// An engine without threads on a journal of any kind.
class OldEngine {
 public:
  explicit OldEngine(Journal& journal) : journal_(journal) { must(core_.open()); }

  Core& core() { return core_; }
  void settle() {
    while (core_.has_work(clock_.now()) || core_.can_write()) {
      core_.decide(clock_.now());
      if (core_.can_write()) {
        const Core::Write what = core_.begin_write();
        core_.end_write(journal_.commit_at(what.expected_head, std::move(*what.commit)),
                        clock_.now());
      }
      for (const auto& effect : core_.take_effects()) {
        effect();
      }
    }
  }
  // Executes everything that can be.
  void work_off() {
    for (int claim = 0;; ++claim) {
      std::optional<Assignment> given;
      const auto worker = std::make_shared<WaitingWorker>();
      worker->skills = std::make_shared<const Skills>(Skills{{SharedText(kDefaultQueue)}, {}});
      worker->applicant =
          Applicant{Claimant{"new-" + std::to_string(claim), sha256("token"), "new", {}}, "token"};
      worker->assigned = [&](Result<Assignment> result) { given = must(std::move(result)); };
      core_.wait_for_work(worker);
      settle();
      if (!given.has_value()) {
        return;
      }
      core_.post(std::make_shared<Ask<Done>>(
          [&](Turn& turn) -> Result<Done> {
            HOLDFAST_CHECK(complete_attempt(turn, proof_of(*given), completion()));
            return Done{};
          },
          [](const Result<Done>& result) { EXPECT_EQ(code_of(result), "ok"); }));
      settle();
    }
  }

 private:
  Journal& journal_;
  ManualClock clock_{after(kStart, kMuchLaterMs)};
  Definitions definitions_{journal_};
  Core core_{journal_, definitions_, {}};
};

// The kinds of all facts there are.
std::vector<std::string> every_kind() {
  std::vector<std::string> kinds;
  const auto add = [&kinds]<typename... Facts>(const std::variant<Facts...>* /*of*/) {
    (kinds.emplace_back(Facts::kKind), ...);
  };
  add(static_cast<const DispatchFact*>(nullptr));
  add(static_cast<const RunFact*>(nullptr));
  add(static_cast<const std::variant<RunIndexed, RunCataloged, DefinitionRegistered>*>(nullptr));
  return kinds;
}

class Engine1 : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::copy(kFolder + "/engine-1.db", path_); }
  std::string status(Journal& journal, const RunId& run) {
    return std::string(to_text(audit(journal.log()).runs.at(run)->status()));
  }

  TempDir dir_;
  std::string path_ = dir_.file("journal.db");
};

TEST_F(Engine1, has_every_kind_of_fact_that_there_was) {
  const auto journal = open(path_);
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : audit(journal->log()).kinds) {
    kinds.push_back(kind);
  }
  EXPECT_THAT(kinds, IsSupersetOf({"run_queued", "attempt_heartbeat", "live_wakeup_emitted",
                                   "run_definition_migrated", "definition_registered"}));
  EXPECT_EQ(kinds.size(), 34U) << "33 kinds of facts and one that nobody knows";
  EXPECT_EQ(verified_export(journal->log()), slurp(kFolder + "/engine-1.jsonl"));
}

TEST_F(Engine1, folds_to_what_it_folded_to_then) {
  const auto journal = open(path_);
  EXPECT_EQ(states_of(*journal), slurp(kFolder + "/engine-1.states.jsonl"));
}

TEST_F(Engine1, has_the_anomalies_that_were_put_there_and_no_others) {
  const auto journal = open(path_);
  std::vector<std::string> reasons;
  const Audit all = audit(journal->log());
  for (const auto& [id, run] : all.runs) {
    for (const Anomaly& anomaly : run->anomalies()) {
      EXPECT_EQ(id, run_no(12));
      reasons.push_back("run: " + anomaly.reason.str());
    }
  }
  for (const auto& [name, queue] : all.queues) {
    for (const Anomaly& anomaly : queue->anomalies()) {
      reasons.push_back("queue: " + anomaly.reason.str());
    }
  }
  EXPECT_THAT(reasons, ElementsAre("run: unknown_runnable_intent", "run: stale_manual_resolution",
                                   "run: malformed_entry", "queue: conflicting_runnable_intent",
                                   "queue: active_claim", "queue: stale_claim",
                                   "queue: terminal_run", "queue: malformed_entry"));
}

TEST_F(Engine1, is_the_same_with_its_checkpoint_and_without) {
  const auto journal = open(path_);
  OldEngine with(*journal);
  const std::string state = with.core().state().encode();
  must(journal->delete_checkpoint(thread("engine:live")));
  OldEngine without(*journal);
  EXPECT_EQ(without.core().state().encode(), state);
}

TEST_F(Engine1, is_carried_on_where_it_stopped) {
  const auto journal = open(path_);
  OldEngine(*journal).work_off();
  const Audit all = audit(journal->log());
  // Claimed and not reported, unapplied, and a claim of a process that is gone.
  for (const int run : {1, 5, 7, 11}) {
    EXPECT_EQ(status(*journal, run_no(run)), "completed") << run;
  }
  for (const auto& [child, link] : all.runs.at(run_no(2))->children()) {
    EXPECT_EQ(status(*journal, child), "completed");
  }
  EXPECT_EQ(status(*journal, successor_run_id(run_no(6), "2026-01")), "completed");
  EXPECT_EQ(status(*journal, run_no(8)), "paused");
  EXPECT_EQ(all.anomalies().size(), 8U) << "only those that were there";
}

// --write: the journal, its export, and what it folds to.
void write_files(const std::string& folder) {
  const auto disk = std::make_shared<MemoryDisk>();
  EngineStory(disk).write();
  const auto source = open_memory_journal(disk);
  const Audit written = audit(source->log());
  for (const std::string& kind : every_kind()) {
    EXPECT_TRUE(written.kinds.contains(kind)) << kind << " is not in the story";
  }
  const std::string exported = folder + "/engine-1.jsonl";
  std::ofstream(exported, std::ios::binary) << verified_export(source->log());
  import_export(exported, "sqlite:" + folder + "/engine-1.db");
  const auto journal = open(folder + "/engine-1.db");
  // As an engine leaves it: old batches sealed, and a checkpoint.
  const Position head = must(journal->catch_up());
  must(journal->seal({.below = Position{head.value / 2}, .step_bytes = 1U << 20U}));
  OldEngine engine(*journal);
  engine.core().want_checkpoint();
  engine.core().decide(kStart);
  must(Core::save(*journal, engine.core().take_checkpoint().value()));
  std::ofstream(folder + "/engine-1.states.jsonl", std::ios::binary) << states_of(*journal);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) {
    holdfast::write_files(argv[2]);
    return testing::Test::HasFailure() ? 1 : 0;
  }
  return RUN_ALL_TESTS();
}

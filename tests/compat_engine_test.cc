// Every version of the engine must read what earlier versions wrote.
//
//   compat_engine_test --write FOLDER
//
// writes the files of the current version into FOLDER. This is for a new format: files that are
// already in tests/compat are never replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runs/run/run_listing.h"
#include "tests/support/engine_story.h"
#include "tests/support/journal_audit.h"
#include "tests/support/journal_files.h"
#include "tests/support/temp_dir.h"

namespace holdfast::compat_engine_test {
namespace {

using ::testing::AnyOf;
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

// The state of every thread, one line each.
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

// An engine without threads on a journal of any version.
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
  // Executes all visible attempts.
  void work_off() {
    for (int claim = 0;; ++claim) {
      std::optional<Assignment> given;
      const auto worker = std::make_shared<ClaimRequest>();
      worker->skills = std::make_shared<const Skills>(Skills{{{SharedText(kDefaultQueue)}}, {}});
      worker->applicants = {
          Applicant{Claimant{"new-" + std::to_string(claim), sha256("token"), "new", {}}, "token"}};
      worker->assigned = [&](std::vector<Result<Assignment>> results) {
        given = must(std::move(results.front()));
      };
      core_.request_claim(worker);
      settle();
      if (!given.has_value()) {
        return;
      }
      core_.post(std::make_shared<FunctionCommand<Done>>(
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

// The kinds of all facts.
std::vector<std::string> every_kind() {
  std::vector<std::string> kinds;
  const auto add = [&kinds]<typename... Facts>(const std::variant<Facts...>* /*of*/) {
    (kinds.emplace_back(Facts::kKind), ...);
  };
  add(static_cast<const DispatchFact*>(nullptr));
  add(static_cast<const RunFact*>(nullptr));
  add(static_cast<
      const std::variant<RunIndexed, RunCataloged, DefinitionRegistered, WorkflowRegistered>*>(
      nullptr));
  return kinds;
}

// Members that belong to retired kinds of entries.
bool is_retired_member(std::string_view where, std::string_view name) {
  return (name == "dynamic_work" && where.ends_with(".rare")) || name == "fence";
}

// Every member of the old state is in the new one with the same value; the new one may have more.
void expect_known(const Json& then, const Json& now, const std::string& where) {
  // In old versions a run waited at one boundary only.
  const bool became_list = then.kind() == Json::Kind::object && now.kind() == Json::Kind::array;
  if (became_list && where.ends_with(".manual")) {
    ASSERT_EQ(now.size(), 1U) << where;
    expect_known(then, now.item(0), where + "[0]");
    return;
  }
  ASSERT_EQ(then.kind(), now.kind()) << where;
  if (then.kind() == Json::Kind::object) {
    for (std::size_t i = 0; i < then.size(); ++i) {
      const auto [name, value] = then.member(i);
      if (is_retired_member(where, name)) {
        continue;
      }
      const auto found = now.find(name);
      ASSERT_TRUE(found.has_value()) << where << " lacks " << name;
      expect_known(value, *found, where + "." + std::string(name));
    }
  } else if (then.kind() == Json::Kind::array) {
    ASSERT_EQ(then.size(), now.size()) << where;
    for (std::size_t i = 0; i < then.size(); ++i) {
      expect_known(then.item(i), now.item(i), where + "[" + std::to_string(i) + "]");
    }
  } else {
    EXPECT_EQ(then.boolean(), now.boolean()) << where;
    EXPECT_EQ(then.integer(), now.integer()) << where;
    EXPECT_EQ(then.number(), now.number()) << where;
    EXPECT_EQ(then.string(), now.string()) << where;
  }
}

// The same for every thread, one line each. Returns the number of threads.
std::size_t expect_all_known(const std::string& then, const std::string& now) {
  std::istringstream then_lines(then);
  std::istringstream now_lines(now);
  std::string then_line;
  std::string now_line;
  std::size_t threads = 0;
  while (std::getline(then_lines, then_line)) {
    EXPECT_TRUE(std::getline(now_lines, now_line)) << "a thread is missing";
    const Json known = must(Json::parse(then_line));
    const std::string name(known.find("thread")->string().value());
    expect_known(known, must(Json::parse(now_line)), name);
    ++threads;
  }
  EXPECT_FALSE(std::getline(now_lines, now_line)) << now_line;
  return threads;
}

// The files of one version.
class OldFiles : public testing::Test {
 protected:
  explicit OldFiles(const std::string& name) : name_(name) {
    std::filesystem::copy(kFolder + "/" + name + ".db", path_);
    journal_ = open(path_);
  }
  [[nodiscard]] std::string kept(const std::string& ending) const {
    return slurp(kFolder + "/" + name_ + ending);
  }
  std::vector<std::string> kinds() {
    std::vector<std::string> found;
    for (const auto& [kind, count] : audit(journal_->log()).kinds) {
      found.push_back(kind);
    }
    return found;
  }
  // The anomalies of the runs that have some, and of the queues.
  std::vector<std::string> reasons() {
    std::vector<std::string> found;
    const Audit all = audit(journal_->log());
    for (const auto& [id, run] : all.runs) {
      for (const Anomaly& anomaly : run->anomalies()) {
        EXPECT_THAT(id, AnyOf(run_no(12), run_no(13)));
        found.push_back("run: " + anomaly.reason.str());
      }
    }
    for (const auto& [name, queue] : all.queues) {
      for (const Anomaly& anomaly : queue->anomalies()) {
        found.push_back("queue: " + anomaly.reason.str());
      }
    }
    return found;
  }
  std::string status(const RunId& run) {
    return std::string(to_text(audit(journal_->log()).runs.at(run)->status()));
  }
  void expect_same_without_checkpoint() {
    OldEngine with(*journal_);
    const std::string state = with.core().state().encode();
    must(journal_->delete_checkpoint(thread("engine:live")));
    OldEngine without(*journal_);
    EXPECT_EQ(without.core().state().encode(), state);
  }
  // What the first version of the story left unfinished: a claim without a report, an unapplied
  // result, and the claim of a lost process.
  void expect_continued() {
    for (const int run : {1, 5, 7, 11}) {
      EXPECT_EQ(status(run_no(run)), "completed") << run;
    }
    const Audit all = audit(journal_->log());
    for (const auto& [child, link] : all.runs.at(run_no(2))->children()) {
      EXPECT_EQ(status(child), "completed");
    }
    EXPECT_EQ(status(successor_run_id(run_no(6), "2026-01")), "completed");
    EXPECT_EQ(status(run_no(8)), "paused");
  }

  TempDir dir_;
  std::string path_ = dir_.file("journal.db");
  std::string name_;
  std::unique_ptr<Journal> journal_;
};

class Engine1 : public OldFiles {
 protected:
  Engine1() : OldFiles("engine-1") {}
};

TEST_F(Engine1, has_every_kind_of_fact_of_its_version) {
  EXPECT_THAT(kinds(), IsSupersetOf({"run_queued", "attempt_heartbeat", "live_wakeup_emitted",
                                     "run_definition_migrated", "definition_registered"}));
  EXPECT_EQ(kinds().size(), 34U) << "33 kinds of facts and one unknown kind";
  EXPECT_EQ(verified_export(journal_->log()), kept(".jsonl"));
}

TEST_F(Engine1, folds_to_every_member_of_its_old_state) {
  EXPECT_EQ(expect_all_known(kept(".states.jsonl"), states_of(*journal_)), 16U);
}

TEST_F(Engine1, has_only_the_anomalies_of_its_story) {
  EXPECT_THAT(reasons(), ElementsAre("run: unknown_runnable_intent", "run: stale_manual_resolution",
                                     "run: malformed_entry", "queue: conflicting_runnable_intent",
                                     "queue: active_claim", "queue: stale_claim",
                                     "queue: terminal_run", "queue: malformed_entry"));
}

TEST_F(Engine1, is_the_same_with_its_checkpoint_and_without) { expect_same_without_checkpoint(); }

TEST_F(Engine1, is_continued_where_it_stopped) {
  OldEngine(*journal_).work_off();
  expect_continued();
  EXPECT_EQ(audit(journal_->log()).anomalies().size(), 8U) << "no new anomalies";
}

class SinceEngine2 : public OldFiles, public testing::WithParamInterface<const char*> {
 protected:
  SinceEngine2() : OldFiles(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Files, SinceEngine2, testing::Values("engine-2", "engine-3"),
                         [](const auto& file) { return "v" + std::string(1, file.param[7]); });

TEST_P(SinceEngine2, has_every_kind_of_fact_of_its_version) {
  EXPECT_THAT(kinds(), IsSupersetOf({"workflow_registered", "runnables_withdrawn", "steps_adopted",
                                     "external_event_buffered", "compensation_started"}));
  EXPECT_EQ(kinds().size(), 39U) << "38 kinds of facts and one unknown kind";
  EXPECT_EQ(verified_export(journal_->log()), kept(".jsonl"));
}

TEST_P(SinceEngine2, folds_to_its_old_state) {
  const std::size_t threads = expect_all_known(kept(".states.jsonl"), states_of(*journal_));
  EXPECT_EQ(expect_all_known(states_of(*journal_), kept(".states.jsonl")), threads);
}

TEST_P(SinceEngine2, has_only_the_anomalies_of_its_story) {
  EXPECT_THAT(reasons(),
              ElementsAre("run: unknown_runnable_intent", "run: stale_manual_resolution",
                          "run: malformed_entry", "run: conflicting_compensation",
                          "queue: conflicting_runnable_intent", "queue: active_claim",
                          "queue: stale_claim", "queue: terminal_run", "queue: malformed_entry"));
}

TEST_P(SinceEngine2, is_the_same_with_its_checkpoint_and_without) {
  expect_same_without_checkpoint();
}

TEST_P(SinceEngine2, is_continued_where_it_stopped) {
  EXPECT_EQ(status(run_no(20)), "compensating");
  OldEngine(*journal_).work_off();
  expect_continued();
  // A sleep that has ended, a list, a loop, a parent with its child, a replay.
  for (const int run : {23, 25, 26, 27, 28, 29}) {
    EXPECT_EQ(status(run_no(run)), "completed") << run;
  }
  // A finished compensation, a wait for an event that never arrived, a contradicting compensation.
  for (const int run : {20, 22, 13}) {
    EXPECT_EQ(status(run_no(run)), "failed") << run;
  }
  EXPECT_EQ(status(run_no(21)), "paused") << "at an approval";
  EXPECT_EQ(status(run_no(24)), "running") << "the run sleeps";
  EXPECT_EQ(audit(journal_->log()).anomalies().size(), 9U) << "no new anomalies";
}

// Before engine-3 each attempt had its own idempotency key, and stored attempts keep it.
TEST_P(SinceEngine2, keeps_the_idempotency_keys_under_which_steps_were_executed) {
  const Audit found = audit(journal_->log());
  const std::string second = to_string(run_no(2)) + ":charge:2";
  const SharedText key(name_ == "engine-2" ? second : to_string(run_no(2)) + ":charge:1");
  EXPECT_EQ(found.queues.at(kDefaultQueue)->find(second)->idempotency_key, key);
  EXPECT_EQ(found.runs.at(run_no(2))->find(second)->plan.idempotency_key, key);
}

constexpr const char* kNewest = "/engine-3";

// --write: the journal, its export, and the states of its threads.
void write_files(const std::string& folder) {
  const auto disk = std::make_shared<MemoryDisk>();
  EngineStory(disk).write();
  const auto source = open_memory_journal(disk);
  const Audit written = audit(source->log());
  for (const std::string& kind : every_kind()) {
    EXPECT_TRUE(written.kinds.contains(kind)) << kind << " is not in the story";
  }
  const std::string exported = folder + kNewest + ".jsonl";
  std::ofstream(exported, std::ios::binary) << verified_export(source->log());
  import_export(exported, "sqlite:" + folder + kNewest + ".db");
  const auto journal = open(folder + kNewest + ".db");
  // As a closed engine leaves it: old batches sealed, and a checkpoint.
  const Position head = must(journal->catch_up());
  must(journal->seal({.below = Position{head.value / 2}, .step_bytes = 1U << 20U}));
  OldEngine engine(*journal);
  engine.core().request_checkpoint();
  engine.core().decide(kStart);
  must(Core::save(*journal, engine.core().take_checkpoint().value()));
  std::ofstream(folder + kNewest + ".states.jsonl", std::ios::binary) << states_of(*journal);
}

}  // namespace
}  // namespace holdfast::compat_engine_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) {
    holdfast::compat_engine_test::write_files(argv[2]);
    return testing::Test::HasFailure() ? 1 : 0;
  }
  return RUN_ALL_TESTS();
}

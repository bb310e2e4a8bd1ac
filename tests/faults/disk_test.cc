// Full disks, files that cannot grow and read-only directories under running workers: the workers
// report why they stop, nothing acknowledged is lost, and after the fault another worker continues.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>

#include "runs/engine/worker_pool.h"
#include "storage/log/sqlite_store.h"
#include "tests/faults/ledger_site.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/small_disk.h"

namespace holdfast::disk_test {
namespace {

using testing::HasSubstr;

// The worker must exit and name the reason.
template <typename Reason>
void expect_gives_up(const LedgerSite& site, WorkerProcess& worker, Reason reason) {
  EXPECT_EQ(worker.wait_for_exit(std::chrono::seconds(60)), kStoreFailed) << site.error_text();
  EXPECT_THAT(site.error_text(), reason);
  EXPECT_GT(site.lines("started").size(), 0U);
}

void expect_continues(const LedgerSite& site) {
  site.drain();
  EXPECT_GT(expect_ledger_kept(site), 0U);
}

// In a child with its own mount, so that nothing is left behind in any case.
template <typename Work>
void on_small_disk(const std::string& size, Work work) {
  const TempDir mount_point;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SmallDisk disk;
    EXPECT_EQ(disk.mount_at(mount_point.path(), size), "");
    try {
      if (!testing::Test::HasFailure()) {
        work(mount_point.path());
      }
    } catch (const std::exception&) {
      _exit(1);
    }
    std::cout.flush();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see the messages above";
}

// The first is so small that it fills up while the WAL grows; in the second the WAL can grow to its
// full size but not be moved into the file.
class FullDisk : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Wal, FullDisk, testing::Values("6m"));
INSTANTIATE_TEST_SUITE_P(Checkpoint, FullDisk, testing::Values("8m"));

TEST_P(FullDisk, stops_the_workers_and_loses_nothing) {
  on_small_disk(GetParam(), [](const std::string& directory) {
    LedgerSite site("sqlite:" + directory + "/journal.db");
    const std::string ballast = directory + "/ballast";
    std::ofstream(ballast) << std::string(3'000'000, 'b');
    auto first = site.worker();
    auto second = site.worker();
    // The error may come from any of its threads: from the write itself, or as a consequence.
    expect_gives_up(site, *first, HasSubstr("disk is full"));
    expect_gives_up(site, *second, HasSubstr("disk is full"));
    // A new worker reports the same.
    EXPECT_EQ(site.worker()->wait_for_exit(std::chrono::seconds(60)), kStoreFailed);
    std::filesystem::remove(ballast);
    expect_continues(site);
  });
}

TEST(Disk, a_file_that_cannot_grow_stops_the_worker_and_loses_nothing) {
  LedgerSite site;
  auto worker = site.worker();
  // Many small writes, so that the limit is hit at an arbitrary size.
  while (site.lines("started").size() < 20) {
    ASSERT_TRUE(worker->runs_for(Milliseconds(20)));
  }
  const auto size = std::max(std::filesystem::file_size(site.dir.file("journal.db")),
                             std::filesystem::file_size(site.dir.file("journal.db-wal")));
  const rlimit limit{size, size};
  ASSERT_EQ(prlimit(worker->pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  expect_gives_up(site, *worker, HasSubstr("disk I/O error"));
  expect_continues(site);
}

// The test needs a user without permission, because root may write everywhere.
TEST(Disk, a_read_only_directory_is_reported_and_loses_nothing) {
  on_small_disk("64m", [](const std::string& directory) {
    const std::string folder = directory + "/store";
    std::filesystem::create_directory(folder);
    LedgerSite site("sqlite:" + folder + "/journal.db");
    if (geteuid() == 0) {
      ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
      ASSERT_EQ(chown(site.dir.path().c_str(), 65534, 65534), 0);
      ASSERT_EQ(setresgid(65534, 65534, 65534), 0);
      ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
    }
    auto worker = site.worker();
    while (site.lines("started").size() < 10) {
      ASSERT_TRUE(worker->runs_for(Milliseconds(20)));
    }
    ASSERT_EQ(chmod((folder + "/journal.db").c_str(), 0444), 0);
    ASSERT_EQ(chmod(folder.c_str(), 0555), 0);
    // A worker that has the store open continues; a new one reports the reason.
    EXPECT_TRUE(worker->runs_for(Milliseconds(100)));
    worker->kill_9();
    EXPECT_EQ(site.worker()->wait_for_exit(std::chrono::seconds(60)), kStoreFailed);
    EXPECT_THAT(site.error_text(), HasSubstr("permission_denied"));
    ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
    ASSERT_EQ(chmod((folder + "/journal.db").c_str(), 0644), 0);
    expect_continues(site);
  });
}

// The countdown-th disk operation of a whole engine fails.
class EngineOnBadDisk : public testing::TestWithParam<DiskFault> {
 protected:
  std::unique_ptr<Loop> open_loop(const std::string& vfs) {
    auto log = must(Log::open(must(
        open_sqlite_store(path_, OpenMode::create, new_origin(test_uuid(1)),
                          SqliteOptions{.vfs = vfs, .busy_timeout = std::chrono::seconds(5)}))));
    auto loop =
        must(Loop::open(must(Journal::open(std::move(log))), clock_, random_, small_limits()));
    loop->add_definition(workflow_);
    return loop;
  }
  static LoopOptions small_limits() {
    LoopOptions options;
    options.core.checkpoint_every = 50;
    options.seal_every_bytes = 4096;
    return options;
  }
  // Starts runs until the engine stops.
  void start_some(Loop& loop) {
    for (int i = 0; i < 8; ++i) {
      StartRun command;
      command.run_id = RunId{make_uuid(clock_.now(), random_)};
      command.definition = workflow_;
      const auto started = loop.execute<Started>(
          [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); });
      if (!started.ok()) {
        return expect_stopped(loop, started.error());
      }
      started_.push_back(command.run_id);
    }
  }
  // Works until nothing can be claimed or the engine stops.
  void work(Loop& loop) {
    const Skills skills{{{SharedText(kDefaultQueue)}}, {}};
    for (;;) {
      const Applicant applicant = loop.new_applicant(skills);
      const auto given = loop.execute<std::optional<Assignment>>(
          [&](Turn& turn) { return claim_next(turn, skills, applicant); });
      if (!given.ok()) {
        return expect_stopped(loop, given.error());
      }
      if (!given.value().has_value()) {
        return;
      }
      Completion done;
      done.result = Payload::trusted("{}");
      const auto reported = loop.execute<Done>([&](Turn& turn) {
        return report_outcome(turn, proof_of(*given.value()), AttemptOutcome(done));
      });
      if (reported.ok()) {
        completed_.insert(given.value()->runnable_key.str());
      } else if (reported.error().code() != ErrorCode::expired_claim) {
        return expect_stopped(loop, reported.error());
      }
    }
  }
  // Waits for claims of stopped engines to expire.
  void finish(Loop& loop) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto live = [&] {
      return must(
          loop.execute<std::size_t>([](Turn& turn) { return turn.state().runs().count(); }));
    };
    while (live() > 0 && std::chrono::steady_clock::now() < end) {
      work(loop);
      poll(nullptr, 0, 10);
    }
    EXPECT_EQ(live(), 0U);
  }
  static void expect_stopped(Loop& loop, const Error& why) {
    EXPECT_EQ(error_info(why.code()).exit_code, error_info(ErrorCode::io_error).exit_code)
        << why.text();
    EXPECT_TRUE(loop.failure().has_value());
  }
  void expect_all_kept() {
    const auto journal = must(open_journal("sqlite:" + path_, OpenMode::create, clock_, random_));
    const Audit found = audit(journal->log());
    EXPECT_THAT(found.anomalies(), testing::IsEmpty());
    for (const RunId& id : started_) {
      ASSERT_TRUE(found.runs.contains(id)) << "lost: " << to_string(id);
    }
    for (const auto& [id, run] : found.runs) {
      EXPECT_EQ(run->status(), RunStatus::completed);
    }
    const Completions completions = completions_of(journal->log());
    for (const std::string& key : completed_) {
      EXPECT_TRUE(completions.claims.contains(key)) << "lost: " << key;
    }
    for (const auto& [key, count] : completions.count) {
      EXPECT_EQ(count, 1) << key;
    }
    must(prove_journal(journal->log()));
  }

  TempDir dir_;
  std::string path_ = dir_.file("journal.db");
  SystemClock clock_;
  SystemRandom random_;
  std::shared_ptr<const Definition> workflow_ = must(
      Definition::parse(R"({"workflow":"w","version":"1","steps":[{"name":"a","lease_ms":200},)"
                        R"({"name":"b","lease_ms":200,"after":["a"]}]})"));
  std::vector<RunId> started_;
  std::set<std::string> completed_;
};

TEST_P(EngineOnBadDisk, stops_at_any_fault_and_the_next_engine_continues) {
  const bool long_run = std::getenv("HOLDFAST_LONG") != nullptr;
  int faults = 0;
  for (int countdown = 1; countdown < 1'000; countdown += 1 + countdown / (long_run ? 20 : 2)) {
    SCOPED_TRACE(countdown);
    {
      const auto loop = open_loop(fault_vfs());
      arm_fault(GetParam(), countdown);
      start_some(*loop);
      work(*loop);
      loop->close();
      faults += disarm_fault() ? 1 : 0;
    }
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(faults, 5);
  const auto loop = open_loop("");
  finish(*loop);
  loop->close();
  expect_all_kept();
}

INSTANTIATE_TEST_SUITE_P(WriteError, EngineOnBadDisk, testing::Values(DiskFault::write_error));
INSTANTIATE_TEST_SUITE_P(SyncError, EngineOnBadDisk, testing::Values(DiskFault::sync_error));
INSTANTIATE_TEST_SUITE_P(DiskFull, EngineOnBadDisk, testing::Values(DiskFault::disk_full));

}  // namespace
}  // namespace holdfast::disk_test

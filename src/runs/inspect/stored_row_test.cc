// Stored rows of runs with large payloads: lists are the same with and without them, and with them
// a list reads much less.
#include "runs/engine/stored_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/packed.h"
#include "runs/engine/engine_loop.h"
#include "runs/inspect/run_list.h"
#include "storage/journal/journal_keys.h"
#include "tests/support/core_fixture.h"
#include "tests/support/workflow_author.h"

namespace holdfast::stored_row_test {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

constexpr std::size_t kMegabyte = 1U << 20U;
constexpr int kRuns = 60;  // more than one page
constexpr std::uint64_t kSeeds = 200;

struct Traffic {
  std::atomic<std::uint64_t> bytes_read = 0;
  std::atomic<std::uint64_t> writes = 0;  // apart from batches
  std::atomic<std::uint64_t> rows = 0;    // of runs, in those
  bool hides_checkpoints = false;
};

class CountingStore final : public PassThroughStore {
 public:
  CountingStore(std::unique_ptr<Store> inner, std::shared_ptr<Traffic> traffic)
      : PassThroughStore(std::move(inner)), traffic_(std::move(traffic)) {}

  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    auto rows = PassThroughStore::read(from, limit);
    for (const Row& row : rows.value()) {
      traffic_->bytes_read += row.body.size();
    }
    return rows;
  }
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override {
    auto values = PassThroughStore::get(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::optional<std::string>& value = values.value()[i];
      if (traffic_->hides_checkpoints && keys[i].starts_with("checkpoint/")) {
        value.reset();
      }
      traffic_->bytes_read += value.has_value() ? value->size() : 0;
    }
    return values;
  }
  Result<std::vector<SidePair>> scan(const SideScan& scan) override {
    auto pairs = PassThroughStore::scan(scan);
    for (const SidePair& pair : pairs.value()) {
      traffic_->bytes_read += pair.value.size();
    }
    return pairs;
  }
  Result<void> update(const SideUpdate& update) override {
    ++traffic_->writes;
    traffic_->rows += static_cast<std::uint64_t>(
        std::count_if(update.puts.begin(), update.puts.end(),
                      [](const SidePair& put) { return put.key.starts_with("checkpoint/run:"); }));
    return PassThroughStore::update(update);
  }

 private:
  std::shared_ptr<Traffic> traffic_;
};

std::unique_ptr<Journal> open_counting(const std::shared_ptr<MemoryDisk>& disk,
                                       const std::shared_ptr<Traffic>& traffic) {
  auto store = must(open_memory_store(disk, OpenMode::create, new_origin(test_uuid(1))));
  return must(
      Journal::open(must(Log::open(std::make_unique<CountingStore>(std::move(store), traffic)))));
}

// A journal without stored rows: its lists are computed from the log.
std::unique_ptr<Journal> open_folding(const std::shared_ptr<MemoryDisk>& disk) {
  const auto traffic = std::make_shared<Traffic>();
  traffic->hides_checkpoints = true;
  return open_counting(disk, traffic);
}

std::string list_at(Journal& journal, Position position, const RunListQuery& query = {}) {
  const Moment moment{position, kStart};
  return std::string(to_json(must(list_runs(journal, query, moment)), moment).view());
}

Payload large_input(std::size_t bytes = kMegabyte) {
  return Payload::trusted(R"({"data":")" + std::string(bytes, 'x') + R"("})");
}

TEST(StoredRowProperty, a_list_is_the_same_with_and_without_stored_rows_at_every_position) {
  std::uint64_t stored = 0;
  for (std::uint64_t seed = 1; seed <= seeds(kSeeds); ++seed) {
    const std::string definition = Author(seed).write();
    if (!Definition::parse(definition).ok()) {
      continue;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    WorldScript script = script_of(seed, definition);
    script.input = R"({"n":1,"list":[1,2,3],"data":")" + std::string(kLargeRunBytes, 'x') + R"("})";
    const auto disk = std::make_shared<MemoryDisk>();
    std::map<Position, std::string> history;
    script.watch = [&](WorkflowWorld& world) {
      const Position now = world.core().state().position();
      if (draw(seed, "requested " + std::to_string(now.value), 3) > 0) {
        world.core().request_rows();
      }
      const auto rows = world.core().take_rows();
      // Sometimes the rows are written late, or never.
      if (draw(seed, "stored " + std::to_string(now.value), 4) > 0) {
        must(world.journal().put_checkpoints(rows));
        stored += rows.size();
      }
      history[now] = list_at(*open_folding(disk), now);
      EXPECT_EQ(list_at(world.journal(), now), history[now]) << now.value;
    };
    WorkflowWorld world(script, disk);
    world.play();
    for (const bool sealed : {false, true}) {
      if (sealed) {
        must(world.journal().seal());
      }
      for (const auto& [position, then] : history) {
        EXPECT_EQ(list_at(world.journal(), position), then) << position.value << " " << sealed;
      }
    }
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(stored, seeds(kSeeds));
}

class StoredRowTest : public CoreTest {
 protected:
  static StartRun large_start(int number, const std::shared_ptr<const Definition>& definition,
                              std::size_t bytes = kMegabyte) {
    StartRun command = start_of(number, definition);
    command.input = large_input(bytes);
    return command;
  }
  void start_large(TestCore& core, int number) {
    const auto started = core.start(large_start(number, one_, 2 * kLargeRunBytes));
    core.settle();
    ASSERT_EQ(started->code(), "ok");
  }
  static void save(TestCore& core) {
    core.core.request_rows();
    must(core.journal->put_checkpoints(core.core.take_rows()));
  }
  // A change of a run that neither ends it nor makes it much larger.
  static Result<Done> mark(Turn& turn, int run, int number) {
    return change_run(
        turn, run_no(run), [number](RunProjection& changed, const Surroundings&, TimeMs now) {
          const std::string text = std::to_string(number);
          return decide_update_attributes(changed, Payload::trusted(R"({"mark":)" + text + "}"),
                                          SharedText("mark " + text), now);
        });
  }
  static void mark(TestCore& core, int run, int number) {
    const auto done =
        core.execute<Done>([run, number](Turn& turn) { return mark(turn, run, number); });
    core.settle();
    ASSERT_EQ(done->code(), "ok");
  }
  // The stored row of the first run is of its newest revision.
  bool row_is_current() {
    const std::vector<ThreadId> names{run_thread(run_no(1))};
    return must(open_memory_journal(disk_)->find_current_checkpoints(names, kStoredRowVersion))
        .front()
        .has_value();
  }
  Position head() { return must(open_memory_journal(disk_)->catch_up()); }
  std::string folded() { return list_at(*open_folding(disk_), head()); }
  std::string listed() { return list_at(*open_memory_journal(disk_), head()); }
  // The bytes that an open journal reads for the first page.
  std::uint64_t bytes_of_a_page(const RunListQuery& query = {}) {
    const auto traffic = std::make_shared<Traffic>();
    const auto journal = open_counting(disk_, traffic);
    const Position now = must(journal->catch_up());
    traffic->bytes_read = 0;
    EXPECT_EQ(must(list_runs(*journal, query, {now, kStart})).rows.size(), query.limit);
    return traffic->bytes_read;
  }
};

class LargeRuns : public StoredRowTest {
 protected:
  enum class Until : std::uint8_t { started, ended };
  // Leaves the runs as a closed engine does.
  void fill(Until until) {
    SystemRandom random;
    const auto loop = must(Loop::open(open_memory_journal(disk_), clock_, random));
    for (int run = 1; run <= kRuns; ++run) {
      const StartRun command = large_start(run, one_);
      must(loop->execute<Started>(
          [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
      if (until == Until::ended) {
        must(loop->execute<Done>([run](Turn& turn) { return cancel_run(turn, run_no(run)); }));
      }
    }
  }
};

TEST_F(LargeRuns, a_page_of_live_runs_does_not_read_their_payloads) {
  fill(Until::started);
  EXPECT_THAT(bytes_of_a_page(), AllOf(Gt(1000U), Lt(kMegabyte / 4)));
  RunListQuery query;
  query.filter.workflow = "order";
  query.newest_first = false;
  EXPECT_LT(bytes_of_a_page(query), kMegabyte / 4) << "of one workflow";
  EXPECT_EQ(listed(), folded());
  must(open_memory_journal(disk_)->seal());
  EXPECT_LT(bytes_of_a_page(), kMegabyte / 4) << "after a seal";
  EXPECT_EQ(listed(), folded());
}

TEST_F(LargeRuns, a_page_of_ended_runs_does_not_read_their_payloads) {
  fill(Until::ended);
  EXPECT_THAT(bytes_of_a_page(), AllOf(Gt(1000U), Lt(kMegabyte / 4)));
  EXPECT_EQ(listed(), folded());
  must(open_memory_journal(disk_)->seal());
  EXPECT_LT(bytes_of_a_page(), kMegabyte / 4) << "after a seal";
  EXPECT_EQ(listed(), folded());
}

TEST_F(LargeRuns, the_latest_run_is_found_without_its_payload) {
  fill(Until::started);
  const auto traffic = std::make_shared<Traffic>();
  const auto journal = open_counting(disk_, traffic);
  const Position now = must(journal->catch_up());
  traffic->bytes_read = 0;
  EXPECT_EQ(must(find_run(*journal, "latest", {now, kStart})), run_no(kRuns));
  EXPECT_LT(traffic->bytes_read, kMegabyte / 4);
}

TEST_F(StoredRowTest, a_row_has_every_member_and_no_secret) {
  TestCore& core = open();
  StartRun command = large_start(1, one_);
  command.search_attributes = Payload::trusted(R"({"customer":"c \"1\"","token":"s3cret"})");
  core.start(command);
  const auto worker = core.worker();
  core.settle();
  core.fail(proof_of(worker->assignment()), failure());
  core.settle();
  core.change(run_no(1), [](RunProjection& run, const Surroundings&, TimeMs now) {
    return decide_archive(run, "old", now);
  });
  core.settle();
  save(core);
  RunListQuery query;
  query.limit = 1;
  query.filter.archived = true;
  EXPECT_LT(bytes_of_a_page(query), kLargeRunBytes);
  const std::string row = list_at(*open_memory_journal(disk_), head(), query);
  EXPECT_EQ(row, list_at(*open_folding(disk_), head(), query));
  for (const std::string_view part : {"failed", "declined", "customer", "ended_at"}) {
    EXPECT_THAT(row, testing::HasSubstr(part));
  }
  EXPECT_THAT(row, testing::Not(testing::HasSubstr("s3cret")));
}

TEST_F(StoredRowTest, small_runs_have_no_row) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.settle();
  EXPECT_THAT(core.core.take_rows(), IsEmpty());
}

TEST_F(StoredRowTest, many_changes_of_a_live_run_make_one_row) {
  TestCore& core = open();
  start_large(core, 1);
  save(core);
  for (int number = 1; number <= 100; ++number) {
    mark(core, 1, number);
    EXPECT_THAT(core.core.take_rows(), IsEmpty()) << "nothing was requested";
    EXPECT_TRUE(core.core.has_changed_rows());
  }
  EXPECT_EQ(listed(), folded()) << "the stored row is out of date";
  core.core.request_rows();
  EXPECT_FALSE(core.core.has_changed_rows());
  const auto rows = core.core.take_rows();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows.front().checkpoint.revision, must(core.journal->revision(run_thread(run_no(1)))));
  must(core.journal->put_checkpoints(rows));
  EXPECT_LT(bytes_of_a_page({.limit = 1}), kLargeRunBytes);
  EXPECT_THAT(listed(), testing::HasSubstr(R"("mark":100)"));
  EXPECT_EQ(listed(), folded());
  core.core.request_rows();
  EXPECT_THAT(core.core.take_rows(), IsEmpty()) << "nothing has changed";
}

TEST_F(StoredRowTest, a_run_that_ends_has_its_last_row_at_once) {
  TestCore& core = open();
  start_large(core, 1);
  mark(core, 1, 1);
  core.cancel(run_no(1));
  core.settle();
  EXPECT_FALSE(core.core.has_changed_rows());
  must(core.journal->put_checkpoints(core.core.take_rows()));
  EXPECT_LT(bytes_of_a_page({.limit = 1}), kLargeRunBytes);
  EXPECT_THAT(listed(), testing::HasSubstr("cancelled"));
  EXPECT_EQ(listed(), folded());
}

TEST_F(StoredRowTest, a_run_that_leaves_memory_has_its_row_before) {
  TestCore& core = open({.memory = {.cached_bytes = 0}});
  start_large(core, 1);
  mark(core, 1, 1);
  // Eviction passes over a run that was used since it was considered last.
  for (int run = 2; core.core.state().runs().find(run_no(1)) != nullptr; ++run) {
    ASSERT_LT(run, 10);
    core.start(start_of(run, one_));
    core.settle();
  }
  must(core.journal->put_checkpoints(core.core.take_rows()));
  EXPECT_TRUE(row_is_current()) << "of the newest revision";
  EXPECT_EQ(listed(), folded());
}

TEST_F(StoredRowTest, a_row_that_is_out_of_date_is_not_used) {
  TestCore& core = open();
  start_large(core, 1);
  save(core);
  EXPECT_EQ(listed(), folded());
  core.cancel(run_no(1));
  core.settle();
  EXPECT_THAT(listed(), testing::HasSubstr("cancelled"));
  EXPECT_EQ(listed(), folded());
  save(core);
  EXPECT_EQ(listed(), folded());
}

TEST_F(StoredRowTest, a_row_is_not_used_for_an_earlier_position) {
  TestCore& core = open();
  start_large(core, 1);
  const Position before = head();
  const std::string then = list_at(*open_folding(disk_), before);
  core.cancel(run_no(1));
  core.settle();
  save(core);
  EXPECT_EQ(list_at(*open_memory_journal(disk_), before), then);
  EXPECT_NE(listed(), then);
}

TEST_F(StoredRowTest, a_damaged_or_foreign_row_is_ignored) {
  TestCore& core = open();
  start_large(core, 1);
  start_large(core, 2);
  save(core);
  const std::string right = folded();
  const std::uint64_t revision = must(core.journal->revision(run_thread(run_no(1)))).value;
  const auto packed = [&](std::uint8_t version, std::uint64_t covers, std::string_view data) {
    return pack(PackedType::checkpoint, version, std::to_string(covers) + "\n" + std::string(data));
  };
  constexpr std::string_view kWrong = R"({"position":1,"status":"failed","revision":1})";
  std::size_t tried = 0;
  const auto side = disk_->side;
  for (const auto& [key, value] : side) {
    if (!key.starts_with("checkpoint/")) {
      continue;
    }
    ++tried;
    std::string cut = value;
    cut.resize(value.size() / 2);
    for (const std::string& bad :
         {std::string(), std::string("garbage"), cut, packed(9, revision, kWrong),
          packed(1, revision + 1, kWrong), packed(1, revision, "no JSON"), packed(1, 0, "[1]"),
          packed(1, revision, R"({"position":1,"status":7})"), packed(1, 0, R"({"run_id":7})")}) {
      disk_->side[key] = bad;
      EXPECT_EQ(listed(), right) << key << " " << bad;
    }
    disk_->side[key] = value;
  }
  EXPECT_EQ(tried, 6U) << "a row, an entry of the catalog and one of the index for each run";
}

TEST_F(StoredRowTest, a_row_never_contains_a_change_that_is_not_durable) {
  TestCore& core = open();
  start_large(core, 1);
  save(core);
  const auto worker = core.worker();
  core.settle();
  // The second change is decided while the first one is written.
  const auto done = core.complete(proof_of(worker->assignment()), completion());
  core.decide();
  const Core::Write write = core.core.begin_write();
  const auto archived =
      core.change(run_no(1), [](RunProjection& run, const Surroundings&, TimeMs now) {
        return decide_archive(run, "old", now);
      });
  core.decide();
  core.end(core.commit(write));
  EXPECT_EQ(done->code(), "ok");
  core.core.request_rows();
  EXPECT_THAT(core.core.take_rows(), IsEmpty()) << "the run is ahead of the disk";
  core.settle();
  EXPECT_EQ(archived->code(), "ok");
  const auto rows = core.core.take_rows();
  EXPECT_THAT(rows, SizeIs(1)) << "without another request";
  must(core.journal->put_checkpoints(rows));
  RunListQuery query;
  query.limit = 1;
  query.filter.archived = true;
  EXPECT_LT(bytes_of_a_page(query), kLargeRunBytes);
  EXPECT_EQ(list_at(*open_memory_journal(disk_), head(), query),
            list_at(*open_folding(disk_), head(), query));
}

// Polls a condition until it is true or the time has passed.
bool within(std::chrono::milliseconds time, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    poll(nullptr, 0, 2);
  }
  return true;
}

TEST_F(StoredRowTest, an_engine_writes_its_rows_once_and_then_nothing) {
  SystemRandom random;
  const auto traffic = std::make_shared<Traffic>();
  const auto loop = must(Loop::open(open_counting(disk_, traffic), clock_, random));
  for (int run = 1; run <= 20; ++run) {
    const StartRun command = large_start(run, one_, 2 * kLargeRunBytes);
    must(loop->execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
  }
  ASSERT_TRUE(within(std::chrono::seconds(20), [&] { return traffic->writes > 0; }));
  EXPECT_FALSE(within(std::chrono::milliseconds(2500), [&] { return traffic->writes > 2; }));
  const std::uint64_t written = traffic->writes;
  EXPECT_FALSE(within(std::chrono::milliseconds(1500), [&] { return traffic->writes > written; }))
      << "an idle engine writes";
  EXPECT_LT(bytes_of_a_page({.limit = 20}), 2 * kLargeRunBytes);
}

class ChangingRun : public StoredRowTest {
 protected:
  ChangingRun() {
    const StartRun command = large_start(1, one_, 2 * kLargeRunBytes);
    must(loop_->execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
  }
  void change(int number) {
    must(loop_->execute<Done>([number](Turn& turn) { return mark(turn, 1, number); }));
  }
  SystemRandom random_;
  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  std::unique_ptr<Loop> loop_ = must(Loop::open(open_counting(disk_, traffic_), clock_, random_));
};

TEST_F(ChangingRun, an_engine_stores_a_row_at_most_once_a_second_and_the_last_one) {
  const auto began = std::chrono::steady_clock::now();
  int number = 0;
  while (traffic_->rows < 2) {
    ASSERT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
    change(++number);
  }
  change(++number);
  ASSERT_TRUE(within(std::chrono::seconds(60), [&] { return row_is_current(); }));
  const auto took =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
  EXPECT_LE(traffic_->rows, static_cast<std::uint64_t>(took.count()) + 1);
  EXPECT_GT(number, 10);
  EXPECT_THAT(listed(), testing::HasSubstr(R"("mark":)" + std::to_string(number)));
  EXPECT_EQ(listed(), folded());
}

TEST_F(ChangingRun, an_engine_that_is_closed_stores_the_last_row) {
  for (int number = 1; number <= 100; ++number) {
    change(number);
  }
  loop_->close();
  EXPECT_TRUE(row_is_current());
  EXPECT_THAT(listed(), testing::HasSubstr(R"("mark":100)"));
  EXPECT_EQ(listed(), folded());
}

}  // namespace
}  // namespace holdfast::stored_row_test

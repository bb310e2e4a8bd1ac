// A store that fails while an engine reads what other processes have written: the engine stops with
// the reason, wherever the read was interrupted.
#include <gtest/gtest.h>

#include "runs/engine/engine_loop.h"
#include "storage/log/pass_through_store.h"
#include "tests/support/test_log.h"

namespace holdfast::half_read_test {
namespace {

// Returns one batch at a time; fails from the n-th read on.
class FadingStore final : public PassThroughStore {
 public:
  using PassThroughStore::PassThroughStore;
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    if (armed && reads_left-- <= 0) {
      return Error{ErrorCode::io_error, "the connection was lost"};
    }
    HOLDFAST_TRY(auto rows, PassThroughStore::read(from, limit));
    if (rows.size() > 1) {
      rows.resize(1);
    }
    return rows;
  }

  bool armed = false;
  int reads_left = 0;
};

struct Engines {
  std::unique_ptr<Loop> open(std::unique_ptr<Store> store) {
    auto loop =
        must(Loop::open(must(Journal::open(must(Log::open(std::move(store))))), clock, random));
    loop->add_definition(workflow);
    return loop;
  }
  std::unique_ptr<Store> store() {
    return must(open_memory_store(disk, OpenMode::create, new_origin(test_uuid(1))));
  }
  Result<Started> start(Loop& loop) {
    StartRun command;
    command.run_id = RunId{make_uuid(clock.now(), random)};
    command.definition = workflow;
    return loop.execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); });
  }

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  SystemClock clock;
  SystemRandom random;
  std::shared_ptr<const Definition> workflow = must(
      Definition::parse(R"({"workflow":"w","version":"1","steps":[{"name":"a"},{"name":"b"}]})"));
};

TEST(HalfRead, of_foreign_batches_stops_the_engine_with_the_reason) {
  int stopped = 0;
  for (int reads = 0; reads < 20; ++reads) {
    SCOPED_TRACE(reads);
    Engines engines;
    auto fading = std::make_unique<FadingStore>(engines.store());
    FadingStore& store = *fading;
    const auto late = engines.open(std::move(fading));
    must(engines.start(*late));
    {
      const auto other = engines.open(engines.store());
      for (int i = 0; i < 5; ++i) {
        must(engines.start(*other));
      }
    }
    store.reads_left = reads;
    store.armed = true;
    // This was decided on state that is out of date by now.
    const auto again = engines.start(*late);
    if (again.ok()) {
      break;
    }
    ++stopped;
    EXPECT_EQ(error_info(again.error().code()).exit_code, error_info(ErrorCode::io_error).exit_code)
        << again.error().text();
    EXPECT_TRUE(late->failure().has_value());
  }
  EXPECT_GT(stopped, 3);
  EXPECT_LT(stopped, 20);
}

}  // namespace
}  // namespace holdfast::half_read_test

#include "storage/log/log.h"

#include <gtest/gtest.h>

#include <functional>

#include "storage/log/pass_through_store.h"
#include "tests/support/test_log.h"

namespace holdfast::log_test {
namespace {

// Acts between reading the state and returning it, as another thread might.
class LateStateStore final : public PassThroughStore {
 public:
  using PassThroughStore::PassThroughStore;

  Result<StoreState> state() override {
    auto seen = PassThroughStore::state();
    if (meanwhile) {
      std::exchange(meanwhile, nullptr)();
    }
    return seen;
  }

  std::function<void()> meanwhile;
};

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = std::make_unique<LateStateStore>(
        must(open_memory_store(disk_, OpenMode::create, new_origin(test_uuid(1)))));
    store_ = store.get();
    log_ = must(Log::open(std::move(store)));
    must(log_->append(Position{0}, "[1]"));
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Log> log_;
  LateStateStore* store_ = nullptr;
};

TEST_F(LogTest, a_state_that_an_append_overtakes_is_not_damage) {
  store_->meanwhile = [&] { must(log_->append(Position{1}, "[2]")); };
  EXPECT_EQ(code_of(log_->refresh()), "ok");
  EXPECT_EQ(log_->head().position, Position{2}) << "the head never moves backwards";
  must(log_->append(Position{2}, "[3]"));
}

TEST_F(LogTest, a_log_that_was_cut_or_replaced_while_open_is_damage) {
  disk_->state->head = Position{0};
  const auto cut = log_->refresh();
  ASSERT_EQ(code_of(cut), "corrupt_log");
  EXPECT_EQ(cut.error().field("reason"), "history_changed");
  disk_->state->head = Position{1};
  EXPECT_EQ(code_of(log_->refresh()), "ok");
  disk_->state->head_chain = Digest{};
  EXPECT_EQ(code_of(log_->refresh()), "corrupt_log");
}

}  // namespace
}  // namespace holdfast::log_test

// An in-memory store that injects faults: it fails, becomes unavailable and returns as the test
// requires.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/journal/journal.h"
#include "storage/log/pass_through_store.h"
#include "tests/support/test_log.h"

namespace holdfast {

// Extra behaviour of a store. Each hook is called by the next operation of its kind only.
struct StoreHooks {
  std::function<Result<void>()> before_append;
  std::function<Result<void>()> after_append;  // the result of a successful append
  std::function<void()> after_read;
  std::atomic<std::uint64_t> appends = 0;  // successful ones
  bool can_reconnect = false;
  std::atomic<bool> down = false;  // the server does not respond
};

class HookedStore final : public PassThroughStore {
 public:
  HookedStore(std::unique_ptr<Store> inner, std::shared_ptr<StoreHooks> hooks)
      : PassThroughStore(std::move(inner)), hooks_(std::move(hooks)) {}

  Result<StoreState> state() override {
    HOLDFAST_CHECK(check_up());
    return PassThroughStore::state();
  }
  Result<void> append(const RowView& row) override {
    HOLDFAST_CHECK(check_up());
    if (const auto hook = std::exchange(hooks_->before_append, nullptr)) {
      HOLDFAST_CHECK(hook());
    }
    HOLDFAST_CHECK(PassThroughStore::append(row));
    ++hooks_->appends;
    const auto hook = std::exchange(hooks_->after_append, nullptr);
    return hook == nullptr ? Result<void>() : hook();
  }
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    HOLDFAST_CHECK(check_up());
    auto rows = PassThroughStore::read(from, limit);
    if (const auto hook = std::exchange(hooks_->after_read, nullptr)) {
      hook();
    }
    return rows;
  }
  Result<void> update(const SideUpdate& update) override {
    HOLDFAST_CHECK(check_up());
    return PassThroughStore::update(update);
  }
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override {
    HOLDFAST_CHECK(check_up());
    return PassThroughStore::get(keys);
  }
  [[nodiscard]] bool can_reconnect() const override { return hooks_->can_reconnect; }
  Result<void> reconnect() override { return check_up(); }
  Result<StoreState> confirm() override { return state(); }

 private:
  [[nodiscard]] Result<void> check_up() const {
    return hooks_->down ? Result<void>(Error{ErrorCode::unavailable, "the server does not respond"})
                        : Result<void>();
  }

  std::shared_ptr<StoreHooks> hooks_;
};

inline std::unique_ptr<Journal> open_hooked_journal(const std::shared_ptr<MemoryDisk>& disk,
                                                    const std::shared_ptr<StoreHooks>& hooks) {
  auto store = must(open_memory_store(disk, OpenMode::create, new_origin(test_uuid(1))));
  return must(
      Journal::open(must(Log::open(std::make_unique<HookedStore>(std::move(store), hooks)))));
}

}  // namespace holdfast

// CrashStore: a store whose process can end at any moment. From then on every call fails, so that
// the engine on this handle can store nothing more; another handle sees what is durable.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/log/pass_through_store.h"

namespace holdfast {

// The power supply of one process. Any thread may use it.
class Power {
 public:
  void cut() { on_ = false; }
  [[nodiscard]] bool on() const { return on_; }
  // Cuts the power when this many further commits are durable.
  void cut_after(std::uint64_t commits) { commits_left_ = static_cast<std::int64_t>(commits); }

  // For the store: a commit became durable.
  void spend_commit() {
    if (commits_left_ > 0 && --commits_left_ == 0) {
      cut();
    }
  }

 private:
  std::atomic<bool> on_ = true;
  std::atomic<std::int64_t> commits_left_ = 0;  // 0: no limit
};

class CrashStore final : public PassThroughStore {
 public:
  CrashStore(std::unique_ptr<Store> inner, std::shared_ptr<Power> power)
      : PassThroughStore(std::move(inner)), power_(std::move(power)) {}

  Result<StoreState> state() override {
    HOLDFAST_CHECK(check());
    return PassThroughStore::state();
  }
  Result<void> append(const RowView& row) override {
    HOLDFAST_CHECK(check());
    HOLDFAST_CHECK(PassThroughStore::append(row));
    power_->spend_commit();
    return check();
  }
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    HOLDFAST_CHECK(check());
    return PassThroughStore::read(from, limit);
  }
  Result<std::optional<Digest>> chain_at(Position position) override {
    HOLDFAST_CHECK(check());
    return PassThroughStore::chain_at(position);
  }
  Result<void> update(const SideUpdate& update) override {
    HOLDFAST_CHECK(check());
    return PassThroughStore::update(update);
  }
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override {
    HOLDFAST_CHECK(check());
    return PassThroughStore::get(keys);
  }
  Result<std::vector<SidePair>> scan(const SideScan& scan) override {
    HOLDFAST_CHECK(check());
    return PassThroughStore::scan(scan);
  }

 private:
  [[nodiscard]] Result<void> check() const {
    return power_->on() ? Result<void>()
                        : Result<void>(Error{ErrorCode::io_error, "the test crashed this engine"});
  }

  std::shared_ptr<Power> power_;
};

}  // namespace holdfast

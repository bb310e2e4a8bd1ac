// A store that forwards everything to another one: a base for stores that interfere.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/log/store.h"

namespace holdfast {

class PassThroughStore : public Store {
 public:
  explicit PassThroughStore(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}

  Result<StoreState> state() override { return inner_->state(); }
  Result<void> append(const RowView& row) override { return inner_->append(row); }
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    return inner_->read(from, limit);
  }
  Result<std::optional<Digest>> chain_at(Position position) override {
    return inner_->chain_at(position);
  }
  Result<void> update(const SideUpdate& update) override { return inner_->update(update); }
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override {
    return inner_->get(keys);
  }
  Result<std::vector<SidePair>> scan(const SideScan& scan) override { return inner_->scan(scan); }
  void interrupt_waits() override { inner_->interrupt_waits(); }
  Result<void> wait_for_change(Position head, std::chrono::milliseconds timeout) override {
    return inner_->wait_for_change(head, timeout);
  }
  Result<void> reclaim() override { return inner_->reclaim(); }
  Result<std::uint64_t> size_bytes() override { return inner_->size_bytes(); }
  [[nodiscard]] std::string name() const override { return inner_->name(); }

 private:
  std::unique_ptr<Store> inner_;
};

}  // namespace holdfast

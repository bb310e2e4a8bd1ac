#include "storage/log/memory_store.h"

#include <iterator>

#include "storage/log/side_range.h"

namespace holdfast {

namespace {

Error conflict(std::string message) { return Error{ErrorCode::conflict, std::move(message)}; }

class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<MemoryDisk> disk, OpenMode mode)
      : disk_(std::move(disk)), mode_(mode) {}

  Result<StoreState> state() override {
    const std::scoped_lock lock(disk_->mutex);
    return *disk_->state;
  }

  Result<void> append(const RowView& row) override {
    HOLDFAST_CHECK(check_writable());
    const std::scoped_lock lock(disk_->mutex);
    if (row.position != disk_->state->head.next()) {
      return conflict("the log has moved to position " + std::to_string(disk_->state->head.value));
    }
    disk_->rows.emplace(row.position,
                        Row{row.position, std::string(row.body), row.body_hash, row.chain});
    disk_->state->head = row.position;
    disk_->state->head_chain = row.chain;
    disk_->changed.notify_all();
    return {};
  }

  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    const std::scoped_lock lock(disk_->mutex);
    std::vector<Row> rows;
    std::size_t bytes = 0;
    for (auto row = disk_->rows.lower_bound(from);
         row != disk_->rows.end() && rows.size() < limit.max_rows && bytes < limit.max_bytes;
         ++row) {
      rows.push_back(row->second);
      bytes += row->second.body.size();
    }
    return rows;
  }

  Result<std::optional<Digest>> chain_at(Position position) override {
    const std::scoped_lock lock(disk_->mutex);
    const auto row = disk_->rows.find(position);
    return row == disk_->rows.end() ? std::nullopt : std::optional(row->second.chain);
  }

  Result<void> update(const SideUpdate& update) override {
    HOLDFAST_CHECK(check_writable());
    const std::scoped_lock lock(disk_->mutex);
    if (update.trim.has_value()) {
      if (disk_->state->start != update.trim->expected_start) {
        return conflict("the log was trimmed by another process");
      }
      disk_->state->start = update.trim->start;
      disk_->state->anchor = update.trim->anchor;
      disk_->rows.erase(disk_->rows.begin(), disk_->rows.lower_bound(update.trim->start));
    }
    for (const std::string& key : update.deletes) {
      disk_->side.erase(key);
    }
    for (const SidePair& pair : update.puts) {
      disk_->side.insert_or_assign(pair.key, pair.value);
    }
    return {};
  }

  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override {
    const std::scoped_lock lock(disk_->mutex);
    std::vector<std::optional<std::string>> values;
    for (const std::string& key : keys) {
      const auto found = disk_->side.find(key);
      values.push_back(found == disk_->side.end() ? std::nullopt : std::optional(found->second));
    }
    return values;
  }

  Result<std::vector<SidePair>> scan(const SideScan& scan) override {
    const std::scoped_lock lock(disk_->mutex);
    std::vector<SidePair> pairs;
    std::size_t bytes = 0;
    const auto take = [&](const auto& entry) {
      pairs.push_back(SidePair{entry.first, entry.second});
      bytes += entry.second.size();
      return pairs.size() < scan.max_pairs && bytes < scan.max_bytes;
    };
    const SideRange range = range_of(scan);
    const auto low = disk_->side.lower_bound(range.low);
    const auto high =
        range.high.has_value() ? disk_->side.lower_bound(*range.high) : disk_->side.end();
    if (range.high.has_value() && *range.high <= range.low) {
      return pairs;
    }
    if (scan.order == SideScan::Order::ascending) {
      for (auto at = low; at != high && take(*at); ++at) {
      }
    } else {
      for (auto at = high; at != low && take(*std::prev(at)); --at) {
      }
    }
    return pairs;
  }

  Result<void> wait_for_change(Position known_head, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(disk_->mutex);
    disk_->changed.wait_for(lock, timeout,
                            [&] { return interrupted_ || disk_->state->head > known_head; });
    return {};
  }

  void interrupt_waits() override {
    const std::scoped_lock lock(disk_->mutex);
    interrupted_ = true;
    disk_->changed.notify_all();
  }

  Result<void> reclaim() override { return {}; }

  Result<std::uint64_t> size_bytes() override {
    const std::scoped_lock lock(disk_->mutex);
    std::uint64_t bytes = 0;
    for (const auto& [position, row] : disk_->rows) {
      bytes += row.body.size() + sizeof(Row);
    }
    for (const auto& [key, value] : disk_->side) {
      bytes += key.size() + value.size();
    }
    return bytes;
  }

  [[nodiscard]] std::string name() const override { return "memory:"; }

 private:
  [[nodiscard]] Result<void> check_writable() const {
    if (mode_ == OpenMode::read) {
      return Error{ErrorCode::read_only, "the log was opened for reading"};
    }
    return {};
  }

  std::shared_ptr<MemoryDisk> disk_;
  OpenMode mode_;
  bool interrupted_ = false;  // guarded by the disk's mutex
};

}  // namespace

Result<std::unique_ptr<Store>> open_memory_store(std::shared_ptr<MemoryDisk> disk, OpenMode mode,
                                                 const StoreOrigin& origin_if_new) {
  {
    const std::scoped_lock lock(disk->mutex);
    if (disk->format > kLogFormat) {
      return Error{ErrorCode::newer_format, "memory: has format " + std::to_string(disk->format) +
                                                ", this program knows formats up to " +
                                                std::to_string(kLogFormat)};
    }
    if (!disk->state.has_value()) {
      if (mode != OpenMode::create) {
        return Error{ErrorCode::not_found, "memory: holds no journal yet"};
      }
      disk->state = StoreState{origin_if_new.log_id, origin_if_new.start, origin_if_new.anchor,
                               Position{origin_if_new.start.value - 1}, origin_if_new.anchor};
    }
  }
  return std::unique_ptr<Store>(std::make_unique<MemoryStore>(std::move(disk), mode));
}

}  // namespace holdfast

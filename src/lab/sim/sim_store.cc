#include "lab/sim/sim_store.h"

#include "storage/entry/entry.h"
#include "storage/log/hash_chain.h"

namespace holdfast::sim {

namespace {

Error failure(ErrorCode code, std::string_view what) {
  return Error{code, "simulated: " + std::string(what)};
}

class SimStore final : public PassThroughStore {
 public:
  SimStore(std::unique_ptr<Store> disk, StoreEvents& events)
      : PassThroughStore(std::move(disk)), events_(events) {}

  Result<StoreState> state() override {
    HOLDFAST_CHECK(check_read());
    return PassThroughStore::state();
  }
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    HOLDFAST_CHECK(check_read());
    return PassThroughStore::read(from, limit);
  }
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override {
    HOLDFAST_CHECK(check_read());
    return PassThroughStore::get(keys);
  }
  Result<void> append(const RowView& row) override {
    HOLDFAST_CHECK(check_alive());
    const WriteFate fate = events_.fate_of_write(false);
    if (fate == WriteFate::crash_split) {
      append_part(row);
      return die();
    }
    if (fate == WriteFate::good || fate == WriteFate::landed || fate == WriteFate::crash_landed) {
      HOLDFAST_CHECK(PassThroughStore::append(row));
      events_.landed(row, true);
    }
    return result_of(fate);
  }
  Result<void> update(const SideUpdate& update) override {
    HOLDFAST_CHECK(check_alive());
    const WriteFate fate = events_.fate_of_write(true);
    if (fate == WriteFate::good || fate == WriteFate::landed || fate == WriteFate::crash_landed) {
      HOLDFAST_CHECK(PassThroughStore::update(update));
    }
    return result_of(fate);
  }
  [[nodiscard]] bool can_reconnect() const override { return events_.can_reconnect(); }
  Result<void> reconnect() override { return check_read(); }
  Result<StoreState> confirm() override {
    HOLDFAST_CHECK(check_alive());
    HOLDFAST_CHECK(result_of(events_.fate_of_write(true)));
    return state();
  }

 private:
  Result<void> check_alive() const {
    return dead_ ? Result<void>(failure(ErrorCode::io_error, "the process is dead"))
                 : Result<void>();
  }
  Result<void> check_read() {
    HOLDFAST_CHECK(check_alive());
    return events_.read_fails() ? Result<void>(failure(ErrorCode::io_error, "a read failed"))
                                : Result<void>();
  }
  Error die() {
    dead_ = true;
    events_.died();
    return failure(ErrorCode::io_error, "the process died while it wrote");
  }
  Result<void> result_of(WriteFate fate) {
    switch (fate) {
      case WriteFate::good:
        return {};
      case WriteFate::lost:
      case WriteFate::landed:
        return failure(ErrorCode::io_error, "a write failed");
      case WriteFate::full:
        return failure(ErrorCode::disk_full, "no space is left");
      case WriteFate::busy:
        return failure(ErrorCode::busy, "the store is locked");
      case WriteFate::conflict:
        return failure(ErrorCode::conflict, "another writer was first");
      case WriteFate::crash_lost:
      case WriteFate::crash_landed:
      case WriteFate::crash_split:
        break;
    }
    return die();
  }
  // A conflict leaves nothing behind, as with a complete batch.
  void append_part(const RowView& row) {
    const std::string body = first_entries(row.body, events_.split_after(row.body));
    const auto before = PassThroughStore::state();
    if (body.empty() || !before.ok()) {
      return;
    }
    const Digest hash = sha256(body);
    const Digest chain = next_chain(before.value().head_chain, row.position, hash);
    const RowView part{row.position, body, hash, chain};
    if (PassThroughStore::append(part).ok()) {
      events_.landed(part, body.size() == row.body.size());
    }
  }

  StoreEvents& events_;
  bool dead_ = false;
};

}  // namespace

Result<std::unique_ptr<Journal>> open_disk(const std::shared_ptr<MemoryDisk>& disk, OpenMode mode) {
  HOLDFAST_TRY(auto store, open_memory_store(disk, mode, StoreOrigin{}));
  HOLDFAST_TRY(auto log, Log::open(std::move(store)));
  return Journal::open(std::move(log));
}

std::unique_ptr<Store> make_sim_store(std::unique_ptr<Store> disk, StoreEvents& events) {
  return std::make_unique<SimStore>(std::move(disk), events);
}

std::string first_entries(std::string_view body, std::size_t count) {
  if (count == 0) {
    return "";
  }
  std::string part = "[";
  BodyScanner scanner(Position{}, body);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = scanner.next();
    if (!entry.ok() || !entry.value().has_value()) {
      break;
    }
    part += (i == 0 ? "" : ",");
    part += entry.value()->raw;
  }
  return part + "]";
}

}  // namespace holdfast::sim

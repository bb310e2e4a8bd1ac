#include "storage/log/memory_store.h"
#include "tests/support/store_harness.h"
#include "tests/support/test_log.h"

namespace holdfast {

namespace {

class MemoryHarness final : public StoreHarness {
 public:
  Result<std::unique_ptr<Store>> open(OpenMode mode) override {
    return open_memory_store(disk_, mode, new_origin(test_uuid(1)));
  }

  void replace_body(Position position, const std::string& body) override {
    disk_->rows.at(position).body = body;
  }
  void delete_row(Position position) override { disk_->rows.erase(position); }
  void swap_rows(Position left, Position right) override {
    std::swap(disk_->rows.at(left), disk_->rows.at(right));
    disk_->rows.at(left).position = left;
    disk_->rows.at(right).position = right;
  }
  void set_format(std::uint32_t format) override { disk_->format = format; }

 private:
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
};

}  // namespace

std::unique_ptr<StoreHarness> make_memory_harness() { return std::make_unique<MemoryHarness>(); }

}  // namespace holdfast

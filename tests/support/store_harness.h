// StoreHarness: one kind of store as the contract suites use it: storage for one log, ways to
// reopen it, and ways to damage it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/log/store.h"
#include "tests/support/store_contract.h"

namespace holdfast {

class StoreHarness : public ContractSubject {
 public:
  Result<std::unique_ptr<Store>> open_or_create() override { return open(OpenMode::create); }
  // A new handle, as another process would open it.
  virtual Result<std::unique_ptr<Store>> open(OpenMode mode) = 0;

  virtual void replace_body(Position position, const std::string& body) = 0;
  virtual void delete_row(Position position) = 0;
  // Swaps the contents of two positions.
  virtual void swap_rows(Position left, Position right) = 0;
  virtual void set_format(std::uint32_t format) = 0;
};

std::unique_ptr<StoreHarness> make_memory_harness();
std::unique_ptr<StoreHarness> make_sqlite_harness();
std::unique_ptr<StoreHarness> make_postgres_harness();

}  // namespace holdfast

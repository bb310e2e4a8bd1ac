#include <sqlite3.h>

#include "storage/log/sqlite_store.h"
#include "tests/support/store_harness.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_log.h"

namespace holdfast {

namespace {

// Damages the file as a person with the sqlite3 shell would.
class SqliteHarness final : public StoreHarness {
 public:
  Result<std::unique_ptr<Store>> open(OpenMode mode) override {
    return open_sqlite_store(path_, mode, new_origin(test_uuid(1)));
  }

  void replace_body(Position position, const std::string& body) override {
    char* sql = sqlite3_mprintf("UPDATE batches SET body = %Q WHERE position = %lld", body.c_str(),
                                static_cast<long long>(position.value));
    exec(sql);
    sqlite3_free(sql);
  }
  void delete_row(Position position) override {
    exec("DELETE FROM batches WHERE position = " + std::to_string(position.value));
  }
  void swap_rows(Position left, Position right) override {
    const std::string a = std::to_string(left.value);
    const std::string b = std::to_string(right.value);
    exec("UPDATE batches SET position = -1 WHERE position = " + a +
         "; UPDATE batches SET position = " + a + " WHERE position = " + b +
         "; UPDATE batches SET position = " + b + " WHERE position = -1");
  }
  void set_format(std::uint32_t format) override {
    exec("PRAGMA user_version = " + std::to_string(format) + "; PRAGMA wal_checkpoint(TRUNCATE)");
  }

 private:
  void exec(const std::string& sql) {
    sqlite3* db = nullptr;
    HOLDFAST_ASSERT(sqlite3_open(path_.c_str(), &db) == SQLITE_OK);
    HOLDFAST_ASSERT(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
  }

  TempDir dir_;
  std::string path_ = dir_.file("log.db");
};

}  // namespace

std::unique_ptr<StoreHarness> make_sqlite_harness() { return std::make_unique<SqliteHarness>(); }

}  // namespace holdfast

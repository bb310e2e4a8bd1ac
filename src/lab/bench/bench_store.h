// BenchStore: the store that a benchmark fills. It is new when the benchmark starts, can be opened
// repeatedly, and is removed at the end unless it is to be kept. Existing data is never touched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "storage/journal/journal.h"
#include "storage/log/memory_store.h"
#include "storage/log/store_url.h"

namespace holdfast {

enum class AfterBench : std::uint8_t { remove, keep };

class BenchStore {
 public:
  // An empty URL means an SQLite file in a new directory under $TMPDIR or /var/tmp. already_exists
  // if the URL names an existing store.
  static Result<std::unique_ptr<BenchStore>> create(std::string_view url, AfterBench after,
                                                    Clock& clock, Random& random);
  ~BenchStore();
  BenchStore(const BenchStore&) = delete;
  BenchStore& operator=(const BenchStore&) = delete;

  Result<std::unique_ptr<Journal>> open();

  [[nodiscard]] const std::string& name() const { return name_; }
  // A directory on the same disk; empty if the store has no directory on this machine.
  [[nodiscard]] const std::optional<std::string>& directory() const { return directory_; }
  // nullptr for other engines.
  [[nodiscard]] const PostgresUrl* postgres() const { return std::get_if<PostgresUrl>(&url_); }
  // True if the next open reads from the disk. Every journal must be closed.
  [[nodiscard]] bool drop_caches() const;
  // What remains after the benchmark and how to remove it; empty if nothing does.
  [[nodiscard]] std::string left_behind() const;

 private:
  BenchStore(StoreUrl url, AfterBench after, Clock& clock, Random& random)
      : url_(std::move(url)), after_(after), clock_(&clock), random_(&random) {}

  Result<void> prepare();

  StoreUrl url_;
  AfterBench after_;
  Clock* clock_;
  Random* random_;
  std::string text_;  // the URL as it was given; may contain a password
  std::string name_;
  std::optional<std::string> directory_;
  std::optional<std::string> own_directory_;  // created by the benchmark
  std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace holdfast

// BenchStore: the store that a benchmark fills. It is new when the benchmark begins, can be
// opened again and again, and is removed at the end unless it is to be kept. Nothing that was
// there before is touched.
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
  // An empty URL stands for an SQLite file in a new directory under $TMPDIR or /var/tmp.
  // already_exists when the URL names something that is there.
  static Result<std::unique_ptr<BenchStore>> create(std::string_view url, AfterBench after,
                                                    Clock& clock, Random& random);
  ~BenchStore();
  BenchStore(const BenchStore&) = delete;
  BenchStore& operator=(const BenchStore&) = delete;

  Result<std::unique_ptr<Journal>> open();

  [[nodiscard]] const std::string& name() const { return name_; }
  // Where a raw file lies on the same disk; empty when the store has no directory here.
  [[nodiscard]] const std::optional<std::string>& directory() const { return directory_; }
  // Empty for the other engines.
  [[nodiscard]] const PostgresUrl* postgres() const { return std::get_if<PostgresUrl>(&url_); }
  // True when the next open reads from the disk. Every journal must be closed.
  [[nodiscard]] bool drop_caches() const;
  // What stays behind after the benchmark and what to do with it; empty when nothing does.
  [[nodiscard]] std::string left_behind() const;

 private:
  BenchStore(StoreUrl url, AfterBench after, Clock& clock, Random& random)
      : url_(std::move(url)), after_(after), clock_(&clock), random_(&random) {}

  Result<void> prepare();

  StoreUrl url_;
  AfterBench after_;
  Clock* clock_;
  Random* random_;
  std::string text_;  // the URL as it was given; may hold a password
  std::string name_;
  std::optional<std::string> directory_;
  std::optional<std::string> own_directory_;  // made by us
  std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace holdfast

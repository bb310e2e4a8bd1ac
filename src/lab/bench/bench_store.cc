#include "lab/bench/bench_store.h"

#include <fmt/format.h>

#include <filesystem>

#include "lab/bench/bench_folder.h"
#include "lab/bench/raw_file.h"
#include "storage/journal/open_journal.h"
#include "storage/log/open_store.h"

namespace holdfast {

namespace {

namespace fs = std::filesystem;

Error already_exists_error(std::string_view name) {
  return Error{ErrorCode::already_exists,
               fmt::format("{} already exists: a benchmark needs a new store", name)};
}

}  // namespace

Result<std::unique_ptr<BenchStore>> BenchStore::create(std::string_view url, AfterBench after,
                                                       Clock& clock, Random& random) {
  std::string text(url);
  std::optional<std::string> own_directory;
  if (text.empty()) {
    HOLDFAST_TRY(own_directory, make_temporary_directory());
    text = fmt::format("sqlite:{}/journal.db", *own_directory);
  }
  HOLDFAST_TRY(auto parsed, parse_store_url(text));
  std::unique_ptr<BenchStore> store(new BenchStore(std::move(parsed), after, clock, random));
  store->text_ = std::move(text);
  store->own_directory_ = std::move(own_directory);
  auto prepared = store->prepare();
  if (!prepared.ok()) {
    store->after_ = AfterBench::keep;  // the benchmark did not create it
    return std::move(prepared).error();
  }
  return store;
}

Result<void> BenchStore::prepare() {
  if (const auto* sqlite = std::get_if<SqliteUrl>(&url_)) {
    name_ = text_;
    if (fs::exists(sqlite->path)) {
      return already_exists_error(sqlite->path);
    }
    const fs::path parent = fs::path(sqlite->path).parent_path();
    directory_ = parent.empty() ? "." : parent.string();
    return {};
  }
  if (const auto* postgres = std::get_if<PostgresUrl>(&url_)) {
    name_ = postgres->shown;
    auto found = open_log(text_, OpenMode::read, *clock_, *random_);
    if (found.ok()) {
      return already_exists_error(name_);
    }
    return found.error().code() == ErrorCode::not_found ? Result<void>()
                                                        : Result<void>(std::move(found).error());
  }
  name_ = "memory:";
  disk_ = std::make_shared<MemoryDisk>();
  return {};
}

BenchStore::~BenchStore() {
  std::error_code ignored;
  if (after_ == AfterBench::keep) {
    return;
  }
  if (own_directory_.has_value()) {
    fs::remove_all(*own_directory_, ignored);
  } else if (const auto* sqlite = std::get_if<SqliteUrl>(&url_)) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      fs::remove(sqlite->path + suffix, ignored);
    }
  }
}

Result<std::unique_ptr<Journal>> BenchStore::open() {
  if (disk_ == nullptr) {
    return open_journal(text_, OpenMode::create, *clock_, *random_);
  }
  const StoreOrigin origin = new_origin(make_uuid(clock_->now(), *random_));
  HOLDFAST_TRY(auto store, open_memory_store(disk_, OpenMode::create, origin));
  HOLDFAST_TRY(auto log, Log::open(std::move(store)));
  return Journal::open(std::move(log));
}

bool BenchStore::drop_caches() const {
  const auto* sqlite = std::get_if<SqliteUrl>(&url_);
  return sqlite != nullptr && drop_page_cache(sqlite->path);
}

std::string BenchStore::left_behind() const {
  if (postgres() != nullptr) {
    return after_ == AfterBench::keep
               ? fmt::format("the journal is kept in {}", name_)
               : fmt::format("the journal remains in {}; to remove it: DROP SCHEMA \"{}\" CASCADE",
                             name_, postgres()->schema);
  }
  return after_ == AfterBench::keep && disk_ == nullptr
             ? fmt::format("the journal is kept in {}", name_)
             : std::string();
}

}  // namespace holdfast

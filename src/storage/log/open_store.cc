#include "storage/log/open_store.h"

#include "storage/log/hash_chain.h"
#include "storage/log/memory_store.h"
#include "storage/log/postgres_store.h"
#include "storage/log/sqlite_store.h"
#include "storage/log/store_url.h"

namespace holdfast {

namespace {

struct Opener {
  OpenMode mode;
  const StoreOrigin& origin;

  Result<std::unique_ptr<Store>> operator()(const MemoryUrl&) const {
    return open_memory_store(std::make_shared<MemoryDisk>(), mode, origin);
  }
  Result<std::unique_ptr<Store>> operator()(const SqliteUrl& url) const {
    return open_sqlite_store(url.path, mode, origin);
  }
  Result<std::unique_ptr<Store>> operator()(const PostgresUrl& url) const {
    return open_postgres_store(url, mode, origin);
  }
};

}  // namespace

StoreOrigin new_origin(const Uuid& log_id) {
  return StoreOrigin{log_id, Position{1}, genesis_chain(log_id)};
}

Result<std::unique_ptr<Store>> open_store(std::string_view url, OpenMode mode,
                                          const StoreOrigin& origin_if_new) {
  HOLDFAST_TRY(const auto parsed, parse_store_url(url));
  return std::visit(Opener{mode, origin_if_new}, parsed);
}

}  // namespace holdfast

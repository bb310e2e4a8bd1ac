// A log in one schema of a PostgreSQL database (13 or newer, or a server that speaks its
// protocol). docs/format.md has the schema. Correctness rests on one conditional UPDATE of a
// single row; LISTEN/NOTIFY is only a hint.
#pragma once

#include <memory>

#include "storage/log/store.h"
#include "storage/log/store_url.h"

namespace holdfast {

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresUrl& url, OpenMode mode,
                                                   const StoreOrigin& origin_if_new);

}  // namespace holdfast

// What a PostgreSQL server does without a journal: one row per commit. Benchmarks compare with
// it.
#pragma once

#include <cstdint>

#include "holdfast/result.h"
#include "storage/log/store_url.h"

namespace holdfast {

// Inserts count rows of 250 bytes into a new table of the schema, which must exist, each row
// durable before the next is sent. The table is dropped again.
Result<double> postgres_single_row_inserts_per_second(const PostgresUrl& url, std::uint64_t count);

}  // namespace holdfast

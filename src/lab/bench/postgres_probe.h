// The speed of a PostgreSQL server without a journal, as a limit for benchmarks: one row per
// commit.
#pragma once

#include <cstdint>

#include "holdfast/result.h"
#include "storage/log/store_url.h"

namespace holdfast {

// Inserts `count` rows of 250 bytes into a new table of the schema, which must exist. Each row is
// durable before the next one is sent. The table is dropped afterwards.
Result<double> postgres_single_row_inserts_per_second(const PostgresUrl& url, std::uint64_t count);

}  // namespace holdfast

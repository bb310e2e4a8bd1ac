// The tables of a broker, as a list of migrations. Released migrations are never edited: a test
// has the hash of each. A change of the tables is a new entry at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "delivery/broker/sql_session.h"

namespace holdfast::delivery {

struct Migration {
  std::uint32_t version;  // 1, 2, 3, ...
  std::string_view sql;   // see migration_sql
};

std::span<const Migration> broker_migrations();
std::uint32_t newest_broker_schema();

// The statements of a migration for one database. Beside "@." the text has #int, #blob,
// #identity and #without_rowid for what the two databases write differently.
std::string migration_sql(const Migration& migration, SqlDialect dialect, std::string_view prefix);

}  // namespace holdfast::delivery

// Store URLs: where a log lives.
//   memory:                                    in this process, gone with it
//   sqlite:PATH                                one SQLite file
//   postgres://[user[:password]@]host[:port]/database[?schema=NAME&...]
//       a schema of a PostgreSQL database (default schema: holdfast); the other parameters
//       are libpq's. postgresql:// means the same.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "holdfast/result.h"
#include "storage/postgres/postgres_url.h"

namespace holdfast {

struct MemoryUrl {};

struct SqliteUrl {
  std::string path;
};

using StoreUrl = std::variant<MemoryUrl, SqliteUrl, PostgresUrl>;

// invalid_url, with the reason and the form of a URL.
Result<StoreUrl> parse_store_url(std::string_view url);

}  // namespace holdfast

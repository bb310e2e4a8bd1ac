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

namespace holdfast {

struct MemoryUrl {};

struct SqliteUrl {
  std::string path;
};

struct PostgresUrl {
  std::string connection;  // for libpq; may hold a password: never print it
  std::string schema;
  bool allow_fsync_off = false;
  bool several_hosts = false;  // only one of them may take writes
  std::string shown;           // without password and parameters, for messages
};

using StoreUrl = std::variant<MemoryUrl, SqliteUrl, PostgresUrl>;

// invalid_url, saying what is wrong and what a URL looks like.
Result<StoreUrl> parse_store_url(std::string_view url);

}  // namespace holdfast

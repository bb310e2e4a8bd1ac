// PostgresUrl: a schema of a PostgreSQL database.
//   postgres://[user[:password]@]host[:port][,host[:port]...]/database[?schema=NAME&...]
// The default schema is holdfast; allow_fsync_off=1 accepts a server without fsync; the other
// parameters are libpq's. postgresql:// means the same.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

struct PostgresUrl {
  std::string connection;  // for libpq; may contain a password: never print it
  std::string schema;
  bool allow_fsync_off = false;
  bool several_hosts = false;  // at most one of them accepts writes
  std::string shown;           // without password and parameters, for messages
};

// `rest` is what follows "postgres://". invalid_url; no message repeats a password.
Result<PostgresUrl> parse_postgres_url(std::string_view rest);

}  // namespace holdfast

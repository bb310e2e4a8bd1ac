// Sessions whose commits are durable.
#pragma once

#include "storage/postgres/postgres_client.h"

namespace holdfast {

// Makes commits of this session durable, and rejects a server that cannot: unsafe_store when it
// runs without fsync, unavailable when it accepts no writes (a standby).
Result<void> prepare_postgres_writer(PgConnection& connection, const PostgresUrl& url);

}  // namespace holdfast

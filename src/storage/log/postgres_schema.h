// The tables of a log in PostgreSQL: their SQL, how they are recognised and how they are made.
#pragma once

#include <string>
#include <string_view>

#include "storage/log/store.h"
#include "storage/postgres/postgres_client.h"

namespace holdfast {

// Every statement the store runs, for one schema.
struct PostgresSql {
  explicit PostgresSql(const std::string& schema);

  PgStatement begin;
  PgStatement commit;
  PgStatement append;  // position, body, body_hash, chain -> one row inserted, or none
  PgStatement notify;  // channel
  PgStatement trim;    // start, anchor, expected start -> one row updated, or none
  PgStatement drop;    // start
  PgStatement remove;  // keys
  PgStatement put;     // keys, values
  PgStatement state;
  PgStatement confirm;  // writes, and answers as state does
  PgStatement head;
  PgStatement read;      // from, max rows, max bytes
  PgStatement chain_at;  // position
  PgStatement get;       // keys
  // low, max pairs, max bytes [, high]
  PgStatement scan_up;
  PgStatement scan_up_below;
  PgStatement scan_down;
  PgStatement scan_down_below;
  PgStatement size;
};

// The answer to the statements state and confirm. corrupt_log when the row is damaged.
Result<StoreState> postgres_state(const PgRows& rows, const PostgresUrl& url);

// Makes sure that the schema holds a log that this program knows, creating it in mode create.
// not_found, not_a_journal, newer_format: nothing was changed. Several processes may create
// the same log at once: one does, all find it.
Result<void> prepare_postgres_log(PgConnection& connection, const PostgresUrl& url, OpenMode mode,
                                  const StoreOrigin& origin_if_new);

}  // namespace holdfast

#include "storage/postgres/postgres_writer.h"

namespace holdfast {

Result<void> prepare_postgres_writer(PgConnection& connection, const PostgresUrl& url) {
  const auto settings =
      connection.query({"",
                        "SELECT name::text, setting::text FROM pg_catalog.pg_settings "
                        "WHERE name IN ('fsync', 'synchronous_commit', 'transaction_read_only')"});
  if (!settings.ok() && connection.lost()) {
    return settings.error();
  }
  // remote_apply waits for more than "on" does.
  bool set_commit = true;
  for (std::size_t row = 0; settings.ok() && row < settings.value().size(); ++row) {
    const std::string_view name = settings.value().bytes(row, 0);
    const std::string_view value = settings.value().bytes(row, 1);
    if (name == "fsync" && value == "off" && !url.allow_fsync_off) {
      return Error{ErrorCode::unsafe_store,
                   url.shown +
                       ": the server runs with fsync=off and would lose acknowledged "
                       "work in a crash; turn fsync on, or accept the loss with "
                       "?allow_fsync_off=1"};
    }
    if (name == "transaction_read_only" && value == "on") {
      return Error{ErrorCode::unavailable,
                   url.shown + ": the server accepts no writes (a standby?)"};
    }
    set_commit = set_commit && !(name == "synchronous_commit" && value == "remote_apply");
  }
  return set_commit ? connection.run("SET synchronous_commit = on") : Result<void>();
}

}  // namespace holdfast

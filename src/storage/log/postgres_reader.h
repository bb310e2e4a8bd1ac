// Reads a log in PostgreSQL, on a connection of its own that is made again when it is lost: reads
// are safe to repeat. A server that was reached anew may be another one, which never had what was
// read before. To a store that writes this matters, so its reader answers unavailable then, until
// begin_again(). Any number of threads may ask; one is served at a time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/log/postgres_schema.h"
#include "storage/postgres/postgres_client.h"

namespace holdfast {

class PostgresReader {
 public:
  // Both outlive this.
  PostgresReader(const PostgresUrl& url, PgSession session, const PostgresSql& sql)
      : url_(url), session_(session), sql_(sql) {}

  // unavailable when the server cannot be reached.
  Result<PgRows> ask(const PgStatement& statement, const PgParams& params = {});
  // If there is a connection; failures are ignored.
  void try_to_run(const std::string& sql);
  // A batch that was read or written: later connections must know it.
  void saw(Position position, const Digest& chain);
  // Forgets what was seen: the caller has read the current history.
  void begin_again();

 private:
  struct Seen {
    Position position;
    Digest chain;
  };

  Result<void> connect();
  Result<void> check_history(PgConnection& connection);

  const PostgresUrl& url_;
  const PgSession session_;
  const PostgresSql& sql_;
  std::mutex mutex_;
  std::unique_ptr<PgConnection> connection_;
  std::mutex seen_mutex_;
  std::optional<Seen> seen_;  // the newest batch that was read or written
};

}  // namespace holdfast

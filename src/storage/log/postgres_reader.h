// Reads a log in PostgreSQL, on its own connection, which is made again when it is lost: reads are
// safe to repeat. After a reconnect the server may be another one, which never had what was read
// before. A store that writes must know this, so its reader then returns unavailable until
// begin_again(). Any number of threads may call it; one is served at a time.
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
  Result<PgRows> query(const PgStatement& statement, const PgParams& params = {});
  // If there is a connection; failures are ignored.
  void try_to_run(const std::string& sql);
  // A batch that was read or written: later connections must know it.
  void saw(Position position, const Digest& chain);
  // Forgets the batches seen so far: the caller has read the current history.
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

// The accept transaction on PostgreSQL: a group of messages with statements over sets, in two
// round trips.
//
//   1  BEGIN, claim the dedupe keys, lock the destinations, read them
//   2  release the claims of refused messages, insert the rows of the accepted ones, COMMIT
//
// Where a key was taken, a third one in between reads the rows under the keys: a broker seldom
// claims one that it has not just looked for in vain.
//
// Keys and destinations are taken in the same order by every broker, so that groups wait for each
// other and seldom deadlock.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "delivery/broker/broker_store.h"
#include "storage/postgres/postgres_client.h"

namespace holdfast::delivery {

class PostgresAccept {
 public:
  // prefix: the quoted schema with a dot.
  PostgresAccept(const std::string& prefix, std::function<Result<void>(FaultPoint)> fault);

  // conflict: a deadlock, or a row that was swept; the group may be tried again. After any error
  // the caller rolls back.
  Result<std::vector<AcceptOutcome>> run(PgConnection& connection,
                                         std::span<const AcceptRow> group) const;

 private:
  struct Step;

  Result<std::vector<PgRows>> send(PgConnection& connection, std::vector<Step> steps) const;
  [[nodiscard]] std::vector<Step> examining(std::span<const AcceptRow> group,
                                            std::span<const AcceptRow* const> distinct) const;
  [[nodiscard]] std::vector<Step> reading_records(std::span<const AcceptRow> group) const;
  [[nodiscard]] std::vector<Step> writing(std::span<const AcceptRow> group,
                                          const std::vector<AcceptOutcome>& outcomes) const;

  PgStatement begin_{"accept_begin", "BEGIN"};
  PgStatement commit_{"accept_commit", "COMMIT"};
  PgStatement claim_;
  PgStatement records_;
  PgStatement lock_;
  PgStatement destinations_;
  PgStatement release_;
  PgStatement topic_;
  PgStatement direct_;
  PgStatement queue_;
  PgStatement history_;
  PgStatement advance_;
  PgStatement mention_;
  std::function<Result<void>(FaultPoint)> fault_;
};

}  // namespace holdfast::delivery

// RawRows: the limit of a broker's store: the rows that a group of messages leaves, inserted into
// the same tables by one multi-row statement per table, in one transaction. It checks nothing, and
// every message is known to be new.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "delivery/broker/broker_store.h"
#include "delivery/broker/sql_session.h"
#include "lab/bench/broker_sample.h"
#include "storage/postgres/postgres_client.h"

namespace holdfast {

class RawRows {
 public:
  // For groups of this size. last_seq: the newest sequence of the destination; it is kept up to
  // date, and must outlive the object.
  RawRows(const BrokerSample& sample, std::size_t group, std::size_t fan_out,
          std::int64_t& last_seq);

  // A transaction of the store, one statement after the other.
  Result<void> insert(delivery::BrokerStore& store, std::span<const delivery::AcceptRow> group);
  // The statements and the commit in one round trip. prefix: the schema, quoted, with a dot.
  Result<void> insert(PgConnection& connection, const std::string& prefix,
                      std::span<const delivery::AcceptRow> group);

 private:
  struct Table {
    std::string sql;  // as SqlSession reads it
    delivery::SqlParams (RawRows::*params)(std::span<const delivery::AcceptRow> group) const;
  };

  [[nodiscard]] delivery::SqlParams dedupe(std::span<const delivery::AcceptRow> group) const;
  [[nodiscard]] delivery::SqlParams messages(std::span<const delivery::AcceptRow> group) const;
  [[nodiscard]] delivery::SqlParams history(std::span<const delivery::AcceptRow> group) const;
  [[nodiscard]] delivery::SqlParams deliveries(std::span<const delivery::AcceptRow> group) const;
  [[nodiscard]] delivery::SqlParams destination(std::span<const delivery::AcceptRow> group) const;

  const BrokerSample& sample_;
  std::size_t fan_out_;
  std::int64_t& last_seq_;
  std::vector<Table> tables_;
  std::vector<PgStatement> statements_;  // of PostgreSQL, with BEGIN and COMMIT
};

}  // namespace holdfast

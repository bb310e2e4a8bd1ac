// What is read from the database of a simulation, and compared with the oracle.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "delivery/broker/orphan_check.h"
#include "holdfast/assert.h"
#include "lab/broker_sim/broker_sim_process.h"

namespace holdfast::broker_sim {

namespace {

// Of a table, the columns that the oracle knows, in its order.
struct TableQuery {
  const char* table;
  const char* columns;
};
constexpr std::array<TableQuery, 9> kTables{{
    {"client_message_dedupe",
     "mesh_id, sender_member_id, client_message_id, broker_message_id, history_id, "
     "lower(hex(request_fingerprint)), destination_kind, destination_ref, first_seen_at, "
     "expires_at, history_available, history_pruned_at"},
    {"topic_message",
     "broker_message_id, mesh_id, destination_kind, destination_ref, sender_member_id, "
     "client_message_id, envelope_version, priority, reply_to_id, meta, body, created_at, "
     "fanout_count"},
    {"message_queue",
     "broker_message_id, mesh_id, destination_kind, destination_ref, sender_member_id, "
     "client_message_id, envelope_version, priority, reply_to_id, meta, body, created_at, "
     "fanout_count"},
    {"message_history",
     "mesh_id, destination_kind, destination_ref, history_seq, history_id, broker_message_id, "
     "created_at, pruned_at"},
    {"delivery_queue",
     "mesh_id, recipient_member_id, broker_message_id, history_seq, priority, state, created_at"},
    {"queue_entry",
     "broker_message_id, mesh_id, queue, ordering_key, rank, history_seq, state, due_at, "
     "expires_at, deliveries, CASE WHEN lease = '' THEN 0 ELSE 1 END, lease_member_id, ended_at, "
     "reason"},
    {"mention_index", "mesh_id, mentioned_pubkey, broker_message_id, history_seq"},
    {"destination", "mesh_id, destination_kind, destination_ref, last_seq"},
    {"topic_subscription", "mesh_id, topic, member_id, role"},
}};

}  // namespace

void BrokerMachine::run_sql(const std::string& sql) {
  HOLDFAST_ASSERT(database_
                      ->write([&](delivery::SqlSession& session) -> Result<void> {
                        HOLDFAST_CHECK(session.execute(sql, {}));
                        return {};
                      })
                      .ok());
}

std::set<std::string> BrokerMachine::stored(const std::string& sql) {
  std::set<std::string> found;
  HOLDFAST_ASSERT(database_
                      ->read([&](delivery::SqlSession& session) -> Result<void> {
                        HOLDFAST_TRY(const auto rows, session.query(sql, {}));
                        for (const auto& row : rows) {
                          found.insert(row[0].bytes);
                        }
                        return {};
                      })
                      .ok());
  return found;
}

void BrokerMachine::check_tables() {
  const BrokerOracle::Tables wanted = world_.oracle.tables();
  const auto done = database_->read([&](delivery::SqlSession& session) -> Result<void> {
    for (const TableQuery& query : kTables) {
      HOLDFAST_TRY(
          const auto rows,
          session.query(fmt::format("SELECT {} FROM @.{}", query.columns, query.table), {}));
      BrokerOracle::Table found;
      for (const auto& row : rows) {
        std::string line;
        for (const delivery::SqlCell& cell : row) {
          line += (line.empty() ? "" : "|") + (cell.null ? std::string("null") : cell.bytes);
        }
        found.push_back(line);
      }
      std::sort(found.begin(), found.end());
      const auto place = wanted.find(query.table);
      const BrokerOracle::Table expected =
          place == wanted.end() ? BrokerOracle::Table{} : place->second;
      const auto [got, want] =
          std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
      if (got != found.end() || want != expected.end()) {
        world_.oracle.fail(fmt::format(
            "the table {} has {} rows and must have {}; the first that "
            "differs is {}, and must be {}",
            query.table, found.size(), expected.size(), got == found.end() ? "missing" : *got,
            want == expected.end() ? "missing" : *want));
      }
    }
    return {};
  });
  HOLDFAST_ASSERT(done.ok());
  const auto report = delivery::check_orphans(*database_, TimeMs{newest_time_}, {});
  if (!report.ok() || report.value().total() != 0) {
    std::string found;
    for (std::size_t i = 0; report.ok() && i < delivery::kOrphanClasses; ++i) {
      for (const auto& [mesh, counts] : report.value().found) {
        found += counts[i] == 0 ? "" : " " + delivery::orphan_name(i);
      }
    }
    world_.oracle.fail("the orphan check finds rows:" + found);
  }
}

}  // namespace holdfast::broker_sim

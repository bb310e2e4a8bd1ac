#include "delivery/broker/orphan_check.h"

#include <fmt/format.h>

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

// Both tables of messages as one.
constexpr std::string_view kMessages =
    "(SELECT broker_message_id, mesh_id, sender_member_id, client_message_id, destination_kind, "
    "destination_ref, created_at, fanout_count FROM @.topic_message UNION ALL "
    "SELECT broker_message_id, mesh_id, sender_member_id, client_message_id, destination_kind, "
    "destination_ref, created_at, fanout_count FROM @.message_queue)";

// Each gives a mesh_id and a number; {0} stands for kMessages. $1i is the time; each text has it,
// so that all take the same parameters.
constexpr auto kChecks = std::to_array<std::string_view>({
    // O1
    "SELECT d.mesh_id, count(*) FROM @.client_message_dedupe d "
    "LEFT JOIN {0} m ON m.broker_message_id = d.broker_message_id "
    "WHERE d.history_available = 1 AND m.broker_message_id IS NULL AND $1i > 0 "
    "GROUP BY d.mesh_id",
    // O2
    "SELECT d.mesh_id, count(*) FROM @.client_message_dedupe d "
    "LEFT JOIN @.message_history h ON h.broker_message_id = d.broker_message_id "
    "WHERE d.history_available = 1 AND h.broker_message_id IS NULL AND $1i > 0 "
    "GROUP BY d.mesh_id",
    // O3
    "SELECT m.mesh_id, count(*) FROM {0} m JOIN @.mesh w ON w.mesh_id = m.mesh_id "
    "LEFT JOIN @.client_message_dedupe d ON d.mesh_id = m.mesh_id "
    "AND d.sender_member_id = m.sender_member_id AND d.client_message_id = m.client_message_id "
    "WHERE m.client_message_id IS NOT NULL AND d.mesh_id IS NULL "
    "AND (w.dedupe_mode = 'permanent' "
    "OR m.created_at + w.dedupe_retention_days * 86400000 > $1i) GROUP BY m.mesh_id",
    // O4
    "SELECT m.mesh_id, count(*) FROM {0} m JOIN @.client_message_dedupe d "
    "ON d.mesh_id = m.mesh_id AND d.sender_member_id = m.sender_member_id "
    "AND d.client_message_id = m.client_message_id JOIN @.mesh w ON w.mesh_id = m.mesh_id "
    "WHERE (d.broker_message_id <> m.broker_message_id "
    "OR d.destination_kind <> m.destination_kind OR d.destination_ref <> m.destination_ref) "
    "AND (w.dedupe_mode = 'permanent' "
    "OR m.created_at + w.dedupe_retention_days * 86400000 > $1i) GROUP BY m.mesh_id",
    // O5
    "SELECT x.mesh_id, CAST(sum(x.wrong) AS BIGINT) FROM ("
    "SELECT h.mesh_id AS mesh_id, count(*) AS wrong FROM @.message_history h "
    "LEFT JOIN {0} m ON m.broker_message_id = h.broker_message_id "
    "WHERE m.broker_message_id IS NULL AND h.pruned_at IS NULL AND $1i > 0 GROUP BY h.mesh_id "
    "UNION ALL SELECT d.mesh_id, abs(d.last_seq - count(h.history_seq)) "
    "+ CASE WHEN COALESCE(max(h.history_seq), 0) > d.last_seq THEN 1 ELSE 0 END "
    "FROM @.destination d LEFT JOIN @.message_history h ON h.mesh_id = d.mesh_id "
    "AND h.destination_kind = d.destination_kind AND h.destination_ref = d.destination_ref "
    "GROUP BY d.mesh_id, d.destination_kind, d.destination_ref, d.last_seq "
    "HAVING count(h.history_seq) <> d.last_seq OR max(h.history_seq) > d.last_seq) x "
    "GROUP BY x.mesh_id",
    // O6; a minute after the accept, whatever the order of the statements in it.
    "SELECT x.mesh_id, CAST(sum(x.wrong) AS BIGINT) FROM ("
    "SELECT d.mesh_id AS mesh_id, count(*) AS wrong FROM @.delivery_queue d "
    "JOIN @.mesh w ON w.mesh_id = d.mesh_id "
    "LEFT JOIN {0} m ON m.broker_message_id = d.broker_message_id "
    "LEFT JOIN @.client_message_dedupe c ON c.mesh_id = m.mesh_id "
    "AND c.sender_member_id = m.sender_member_id AND c.client_message_id = m.client_message_id "
    "WHERE m.broker_message_id IS NULL OR (c.mesh_id IS NULL AND m.client_message_id IS NOT NULL "
    "AND d.created_at + 60000 < $1i AND (w.dedupe_mode = 'permanent' "
    "OR m.created_at + w.dedupe_retention_days * 86400000 > $1i)) GROUP BY d.mesh_id "
    "UNION ALL SELECT e.mesh_id, count(*) FROM @.queue_entry e LEFT JOIN @.message_queue q "
    "ON q.broker_message_id = e.broker_message_id WHERE q.broker_message_id IS NULL "
    "GROUP BY e.mesh_id) x GROUP BY x.mesh_id",
    // O7
    "SELECT x.mesh_id, CAST(sum(x.wrong) AS BIGINT) FROM ("
    "SELECT m.mesh_id AS mesh_id, count(*) AS wrong FROM {0} m WHERE $1i > 0 AND m.fanout_count <> "
    "(SELECT count(*) FROM @.delivery_queue d WHERE d.broker_message_id = m.broker_message_id "
    "AND d.channel = 'ws') GROUP BY m.mesh_id "
    "UNION ALL SELECT q.mesh_id, count(*) FROM @.message_queue q LEFT JOIN @.queue_entry e "
    "ON e.broker_message_id = q.broker_message_id WHERE q.destination_kind = 'queue' "
    "AND e.broker_message_id IS NULL GROUP BY q.mesh_id) x GROUP BY x.mesh_id",
    // O8
    "SELECT i.mesh_id, count(*) FROM @.mention_index i "
    "LEFT JOIN {0} m ON m.broker_message_id = i.broker_message_id "
    "WHERE m.broker_message_id IS NULL AND $1i > 0 GROUP BY i.mesh_id",
    // O9 is computed.
    "",
    // O10
    "SELECT d.mesh_id, count(*) FROM @.client_message_dedupe d "
    "JOIN {0} m ON m.broker_message_id = d.broker_message_id "
    "WHERE d.history_available = 0 AND $1i > 0 GROUP BY d.mesh_id",
});
static_assert(kChecks.size() == kOrphanClasses);

constexpr std::size_t kFingerprintCheck = 8;

Result<void> check_fingerprints(SqlSession& session, std::string_view table, std::uint32_t limit,
                                OrphanReport& report) {
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query(fmt::format("SELECT m.mesh_id, m.envelope_version, m.destination_kind, "
                                "m.destination_ref, m.reply_to_id, m.priority, m.meta, m.body, "
                                "d.request_fingerprint FROM @.{} m "
                                "JOIN @.client_message_dedupe d ON d.mesh_id = m.mesh_id "
                                "AND d.sender_member_id = m.sender_member_id "
                                "AND d.client_message_id = m.client_message_id "
                                "AND d.broker_message_id = m.broker_message_id "
                                "JOIN @.message_history h "
                                "ON h.broker_message_id = m.broker_message_id "
                                "WHERE h.redacted_at IS NULL "
                                "ORDER BY m.broker_message_id DESC LIMIT $1i",
                                table),
                    {std::int64_t{limit}}));
  for (const auto& row : rows) {
    const auto kind = enum_from<DestinationKind>(row[2].bytes);
    const auto priority = enum_from<Priority>(row[5].bytes);
    const bool valid = kind.has_value() && priority.has_value() &&
                       row[3].bytes.find('\0') == std::string::npos &&
                       fingerprint_of({.version = static_cast<std::uint32_t>(row[1].integer),
                                       .destination = {*kind, row[3].bytes},
                                       .reply_to = row[4].bytes,
                                       .priority = *priority,
                                       .meta = row[6].bytes,
                                       .body = row[7].bytes}) == digest_of(row[8]);
    if (!valid) {
      ++report.found[row[0].bytes][kFingerprintCheck];
    }
  }
  return {};
}

}  // namespace

std::uint64_t OrphanReport::total() const {
  std::uint64_t sum = 0;
  for (const auto& [mesh_id, counts] : found) {
    for (const std::uint64_t count : counts) {
      sum += count;
    }
  }
  return sum;
}

std::string orphan_name(std::size_t index) { return "O" + std::to_string(index + 1); }

std::string_view orphan_meaning(std::size_t index) {
  static constexpr std::array<std::string_view, kOrphanClasses> kMeanings{
      "a dedupe row without its message, which was not pruned",
      "a dedupe row without its history row, which was not pruned",
      "a message without its dedupe row, although its dedupe window has not ended",
      "a dedupe row and a message of one id that differ in broker id or destination",
      "a history row without a message that is not marked as pruned, or a gap in a sequence",
      "a delivery or a place in a queue without its message, or a delivery of a message without "
      "its "
      "dedupe row",
      "a message with fewer or more deliveries than it had recipients, or of a queue without a "
      "place "
      "in it",
      "a mention without its message",
      "a stored fingerprint that is not that of the stored message",
      "a dedupe row that is marked as pruned while its message exists"};
  HOLDFAST_ASSERT(index < kMeanings.size());
  return kMeanings[index];
}

Result<OrphanReport> check_orphans(BrokerStore& store, TimeMs now,
                                   const OrphanCheckOptions& options) {
  OrphanReport report;
  HOLDFAST_CHECK(store.scan([&](SqlSession& session) -> Result<void> {
    report.found.clear();
    for (std::size_t i = 0; i < kChecks.size(); ++i) {
      if (i == kFingerprintCheck) {
        for (const std::string_view table : {"topic_message", "message_queue"}) {
          HOLDFAST_CHECK(check_fingerprints(session, table, options.fingerprints, report));
        }
        continue;
      }
      HOLDFAST_TRY(const SqlRows rows,
                   session.query(fmt::format(fmt::runtime(kChecks[i]), kMessages), {now.value}));
      for (const auto& row : rows) {
        report.found[row[0].bytes][i] += static_cast<std::uint64_t>(row[1].integer);
      }
    }
    return {};
  }));
  return report;
}

}  // namespace holdfast::delivery

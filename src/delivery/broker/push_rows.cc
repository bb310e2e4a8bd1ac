#include "delivery/broker/push_rows.h"

#include <algorithm>

namespace holdfast::delivery {

namespace {

constexpr std::int64_t kMostRows = 10'000;

}  // namespace

Result<NewRecipients> find_new_recipients(SqlSession& session, std::uint64_t after_id) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT recipient_member_id, max(delivery_id), count(*), "
                             "sum(CASE WHEN state = 'queued' THEN 1 ELSE 0 END) FROM ("
                             "SELECT recipient_member_id, delivery_id, state FROM @.delivery_queue "
                             "WHERE delivery_id > $1i ORDER BY delivery_id LIMIT $2i) newer "
                             "GROUP BY recipient_member_id",
                             {static_cast<std::int64_t>(after_id), kMostRows}));
  NewRecipients found;
  found.last_id = after_id;
  std::int64_t count = 0;
  for (const auto& row : rows) {
    if (row[3].integer > 0) {
      found.member_ids.push_back(row[0].bytes);
    }
    found.last_id = std::max(found.last_id, static_cast<std::uint64_t>(row[1].integer));
    count += row[2].integer;
  }
  found.more = count == kMostRows;
  return found;
}

Result<std::uint64_t> newest_delivery(SqlSession& session) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT COALESCE(max(delivery_id), 0) FROM @.delivery_queue", {}));
  return static_cast<std::uint64_t>(rows.at(0)[0].integer);
}

Result<std::uint64_t> end_owned_leases(SqlSession& session, std::string_view member_id,
                                       std::string_view owner, TimeMs now) {
  return session.execute(
      "UPDATE @.delivery_queue SET lease_until = $3i WHERE recipient_member_id = $1t "
      "AND state = 'leased' AND lease_owner = $2t AND lease_until > $3i",
      {member_id, owner, now.value});
}

Result<std::string> read_display_name(SqlSession& session, std::string_view member_id) {
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query("SELECT display_name FROM @.member WHERE member_id = $1t", {member_id}));
  return rows.empty() ? std::string() : rows[0][0].bytes;
}

}  // namespace holdfast::delivery

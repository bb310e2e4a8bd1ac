// What pushing needs of the rows of deliveries and members: who has new deliveries, and whose
// connection it is.
//
// Every function runs inside a transaction of BrokerStore.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "delivery/broker/sql_session.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct NewRecipients {
  std::vector<std::string> member_ids;
  std::uint64_t last_id = 0;  // the newest delivery that was looked at
  bool more = false;          // there are newer ones
};

// Who has queued deliveries after an id. Costs as much as there are such deliveries, however
// many members wait. Ids of other brokers may become visible out of order.
Result<NewRecipients> find_new_recipients(SqlSession& session, std::uint64_t after_id);

// The id of the newest delivery; 0 without any.
Result<std::uint64_t> newest_delivery(SqlSession& session);

// The leases of one owner end now; gives their number. What it acknowledges later is fenced once
// another owner has claimed it.
Result<std::uint64_t> end_owned_leases(SqlSession& session, std::string_view member_id,
                                       std::string_view owner, TimeMs now);

// The name that others see; empty without such a member.
Result<std::string> read_display_name(SqlSession& session, std::string_view member_id);

}  // namespace holdfast::delivery

// The statements of the accept transaction on PostgreSQL. Each takes one array of bytea per column
// and works on all messages of a group. s: the quoted schema with a dot.
#pragma once

#include <string>

namespace holdfast::delivery {

std::string claim_sql(const std::string& s);
// ord, broker_message_id, history_id, request_fingerprint, first_seen_at, history_available
std::string records_sql(const std::string& s);
std::string lock_sql(const std::string& s);
// DestinationFacts of each message, in their order
std::string destinations_sql(const std::string& s);
std::string release_sql(const std::string& s);
// With their deliveries; broker_message_id, fanout_count
std::string topic_message_sql(const std::string& s);
std::string queue_message_sql(const std::string& s);
std::string queue_entry_sql(const std::string& s);
std::string history_sql(const std::string& s);
std::string advance_sql(const std::string& s);
std::string mention_sql(const std::string& s);

}  // namespace holdfast::delivery

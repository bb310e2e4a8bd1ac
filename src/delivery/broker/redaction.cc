#include "delivery/broker/redaction.h"

#include <fmt/format.h>

#include "base/quote.h"

namespace holdfast::delivery {

Result<RedactedMessage> redact_message(SqlSession& session, std::string_view mesh_id,
                                       std::string_view broker_message_id, TimeMs now) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT history_id, destination_kind, destination_ref, history_seq, "
                             "redacted_at FROM @.message_history WHERE mesh_id = $1t "
                             "AND broker_message_id = $2t AND pruned_at IS NULL",
                             {mesh_id, broker_message_id}));
  if (rows.empty()) {
    return Error{ErrorCode::not_found,
                 fmt::format("there is no message {}", quote(broker_message_id))};
  }
  const auto& row = rows.front();
  RedactedMessage message{
      std::string(broker_message_id),
      row[0].bytes,
      {enum_from<DestinationKind>(row[1].bytes).value_or(DestinationKind::topic), row[2].bytes},
      static_cast<std::uint64_t>(row[3].integer),
      TimeMs{row[4].integer}};
  if (!row[4].null) {
    return message;
  }
  static const std::string nothing;
  for (const std::string_view table : {"topic_message", "message_queue"}) {
    HOLDFAST_CHECK(session.execute(
        fmt::format("UPDATE @.{} SET body = $2b, meta = '' WHERE broker_message_id = $1t", table),
        {broker_message_id, SqlBytes{nothing}}));
  }
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.message_history SET redacted_at = $2i WHERE broker_message_id = $1t",
      {broker_message_id, now.value}));
  message.redacted_at = now;
  return message;
}

}  // namespace holdfast::delivery

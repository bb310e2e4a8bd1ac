#include "lab/bench/broker_raw.h"

#include <fmt/format.h>

#include <functional>

namespace holdfast {

namespace {

using delivery::AcceptRow;
using delivery::SqlDialect;
using delivery::SqlParams;

// "INSERT … VALUES (…), (…)": values(i) is the row of number i.
std::string multi_row(std::string_view into, std::size_t rows,
                      const std::function<std::string(std::size_t)>& values) {
  std::string sql = fmt::format("INSERT INTO @.{} VALUES ", into);
  for (std::size_t i = 0; i < rows; ++i) {
    sql += fmt::format("{}({})", i == 0 ? "" : ", ", values(i));
  }
  return sql;
}

PgParams pg_params_of(const SqlParams& values) {
  PgParams params;
  for (const auto& value : values) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      params.number(static_cast<std::uint64_t>(*number));
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      params.bytes(*text);
    } else {
      params.bytes(std::get<delivery::SqlBytes>(value).bytes);
    }
  }
  return params;
}

}  // namespace

// Each statement has the values that all of its rows share first, then those of each message.
RawRows::RawRows(const BrokerSample& sample, std::size_t group, std::size_t fan_out,
                 std::int64_t& last_seq)
    : sample_(sample), fan_out_(fan_out), last_seq_(last_seq) {
  tables_.push_back({multi_row("client_message_dedupe(mesh_id, sender_member_id, "
                               "client_message_id, broker_message_id, history_id, "
                               "request_fingerprint, destination_kind, destination_ref, "
                               "first_seen_at, expires_at, history_available)",
                               group,
                               [](std::size_t i) {
                                 const std::size_t at = 6 + 4 * i;
                                 return fmt::format(
                                     "$1t, $2t, ${}t, ${}t, ${}t, ${}b, 'topic', $3t, $4i, $5i, 1",
                                     at, at + 1, at + 2, at + 3);
                               }),
                     &RawRows::dedupe});
  tables_.push_back({multi_row("topic_message(broker_message_id, mesh_id, destination_kind, "
                               "destination_ref, sender_member_id, client_message_id, "
                               "envelope_version, priority, reply_to_id, meta, body, created_at, "
                               "fanout_count)",
                               group,
                               [&](std::size_t i) {
                                 const std::size_t at = 5 + 3 * i;
                                 return fmt::format(
                                     "${}t, $1t, 'topic', $2t, $3t, ${}t, 1, 'next', '', '', ${}b, "
                                     "$4i, {}",
                                     at, at + 1, at + 2, fan_out);
                               }),
                     &RawRows::messages});
  tables_.push_back(
      {multi_row("message_history(mesh_id, destination_kind, destination_ref, history_seq, "
                 "history_id, broker_message_id, created_at)",
                 group,
                 [](std::size_t i) {
                   const std::size_t at = 4 + 3 * i;
                   return fmt::format("$1t, 'topic', $2t, ${}i, ${}t, ${}t, $3i", at, at + 1,
                                      at + 2);
                 }),
       &RawRows::history});
  tables_.push_back(
      {multi_row("delivery_queue(mesh_id, recipient_member_id, broker_message_id, channel, "
                 "endpoint_id, history_seq, priority, state, attempts, next_attempt_at, "
                 "created_at)",
                 group * fan_out,
                 [&](std::size_t i) {
                   const std::size_t at = 3 + fan_out + 2 * (i / fan_out);
                   return fmt::format(
                       "$1t, ${}t, ${}t, 'ws', '', ${}i, 'next', 'queued', 0, $2i, $2i",
                       3 + i % fan_out, at, at + 1);
                 }),
       &RawRows::deliveries});
  tables_.push_back(
      {"UPDATE @.destination SET last_seq = $3i WHERE mesh_id = $1t AND "
       "destination_kind = 'topic' AND destination_ref = $2t",
       &RawRows::destination});
}

SqlParams RawRows::dedupe(std::span<const AcceptRow> group) const {
  const AcceptRow& first = group.front();
  SqlParams params{first.mesh_id, first.sender_member_id, first.message.envelope.destination.ref,
                   first.now.value, first.expires_at.value};
  for (const AcceptRow& row : group) {
    params.insert(params.end(), {row.message.id.text(), row.broker_message_id, row.history_id,
                                 delivery::sql_bytes(row.message.fingerprint)});
  }
  return params;
}

SqlParams RawRows::messages(std::span<const AcceptRow> group) const {
  const AcceptRow& first = group.front();
  SqlParams params{first.mesh_id, first.message.envelope.destination.ref, first.sender_member_id,
                   first.now.value};
  for (const AcceptRow& row : group) {
    params.insert(params.end(), {row.broker_message_id, row.message.id.text(),
                                 delivery::SqlBytes{row.message.envelope.body}});
  }
  return params;
}

SqlParams RawRows::history(std::span<const AcceptRow> group) const {
  const AcceptRow& first = group.front();
  SqlParams params{first.mesh_id, first.message.envelope.destination.ref, first.now.value};
  std::int64_t seq = last_seq_;
  for (const AcceptRow& row : group) {
    params.insert(params.end(), {++seq, row.history_id, row.broker_message_id});
  }
  return params;
}

SqlParams RawRows::deliveries(std::span<const AcceptRow> group) const {
  SqlParams params{group.front().mesh_id, group.front().now.value};
  for (std::size_t i = 0; i < fan_out_; ++i) {
    params.emplace_back(sample_.recipients()[i]);
  }
  std::int64_t seq = last_seq_;
  for (const AcceptRow& row : group) {
    params.insert(params.end(), {row.broker_message_id, ++seq});
  }
  return params;
}

SqlParams RawRows::destination(std::span<const AcceptRow> group) const {
  return {group.front().mesh_id, group.front().message.envelope.destination.ref,
          last_seq_ + static_cast<std::int64_t>(group.size())};
}

Result<void> RawRows::insert(delivery::BrokerStore& store, std::span<const AcceptRow> group) {
  HOLDFAST_CHECK(store.write([&](delivery::SqlSession& session) -> Result<void> {
    for (const Table& table : tables_) {
      HOLDFAST_CHECK(session.execute(table.sql, (this->*table.params)(group)));
    }
    return {};
  }));
  last_seq_ += static_cast<std::int64_t>(group.size());
  return {};
}

Result<void> RawRows::insert(PgConnection& connection, const std::string& prefix,
                             std::span<const AcceptRow> group) {
  if (statements_.empty()) {
    const std::string name = fmt::format("raw_{}_{}", fan_out_, group.size());
    statements_.push_back({name + "_begin", "BEGIN"});
    for (const Table& table : tables_) {
      statements_.push_back({fmt::format("{}_{}", name, statements_.size()),
                             translate_sql(table.sql, SqlDialect::postgres, prefix)});
    }
    statements_.push_back({name + "_commit", "COMMIT"});
  }
  for (const PgStatement& statement : statements_) {
    HOLDFAST_CHECK(connection.prepare_statement(statement));
  }
  HOLDFAST_CHECK(connection.begin_pipeline({}));
  connection.send(statements_.front());
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    connection.send(statements_[i + 1], pg_params_of((this->*tables_[i].params)(group)));
  }
  connection.send(statements_.back());
  const PgReplies replies = connection.finish_pipeline();
  if (replies.failure.has_value()) {
    return *replies.failure;
  }
  last_seq_ += static_cast<std::int64_t>(group.size());
  return {};
}

}  // namespace holdfast

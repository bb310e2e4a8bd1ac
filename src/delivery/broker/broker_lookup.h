// What a broker reads before it accepts a message: the workspace, the caller and the dedupe row,
// in one query. Also the reads of dedupe rows, history and mentions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/sql_session.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct LookupKey {
  std::string slug;  // of the workspace; must be a name
  Digest token_hash{};
  std::string client_message_id;  // empty: no dedupe row is looked up
};

struct LookupResult {
  CallerState caller = CallerState::unauthenticated;
  Workspace workspace;    // unless the caller is not authenticated or there is none
  std::string member_id;  // of a member
  std::string pubkey;     // likewise
  std::optional<DedupeRecord> dedupe;
};

// One result for each key, in one round trip.
Result<std::vector<LookupResult>> look_up(SqlSession& session, std::span<const LookupKey> keys);

// The caller's own ids only: the row of the member under this id.
Result<std::optional<DedupeRecord>> find_dedupe(SqlSession& session, std::string_view mesh_id,
                                                std::string_view member_id,
                                                const ClientMessageId& id);

// An entry of the history of a destination. The message of a pruned one does not exist any more.
struct HistoryEntry {
  std::uint64_t history_seq = 0;
  std::string history_id;
  std::string broker_message_id;
  bool pruned = false;
  std::string sender_member_id;  // these only unless pruned
  std::string client_message_id;
  std::string body;
};

// The entries after a sequence, without gaps.
Result<std::vector<HistoryEntry>> read_history(SqlSession& session, std::string_view mesh_id,
                                               const Destination& destination,
                                               std::uint64_t after_seq, std::uint32_t limit);

struct MentionEntry {
  std::string broker_message_id;
  std::uint64_t history_seq = 0;
};

// Of messages that exist, in the order of their ids, after one of them (or all: empty).
Result<std::vector<MentionEntry>> read_mentions(SqlSession& session, std::string_view mesh_id,
                                                std::string_view pubkey, std::string_view after_id,
                                                std::uint32_t limit);

}  // namespace holdfast::delivery

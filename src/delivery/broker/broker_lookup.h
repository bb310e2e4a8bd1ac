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
#include "delivery/contract/rejection.h"
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

// The member that has the token, in its own workspace: unauthenticated, revoked or member.
//
// Members are found by the first bytes of the hash of their token, which need not be secret; the
// whole hash is compared in constant time.
Result<LookupResult> find_caller(SqlSession& session, const Digest& token_hash);

// The member with a public key, which the caller has proved to be its own: as find_caller().
Result<LookupResult> find_member_by_key(SqlSession& session, std::string_view slug,
                                        std::string_view pubkey);

// Whether a member may read the history of a destination: its own messages, queues, open topics,
// and the closed topics it is subscribed to. No value: it may.
Result<std::optional<Rejection>> check_readable(SqlSession& session, const LookupResult& caller,
                                                const Destination& destination);

// The caller's own ids only: the row of the member under this id.
Result<std::optional<DedupeRecord>> find_dedupe(SqlSession& session, std::string_view mesh_id,
                                                std::string_view member_id,
                                                const ClientMessageId& id);

// An entry of the history of a destination. The message of a pruned one does not exist any more.
struct HistoryEntry {
  std::uint64_t history_seq = 0;
  std::string history_id;
  std::string broker_message_id;
  TimeMs created_at;
  bool pruned = false;
  bool redacted = false;         // without meta and body
  std::string sender_member_id;  // these only unless pruned
  std::string sender_pubkey;
  std::string sender_name;
  std::string client_message_id;
  Priority priority = Priority::next;
  std::string reply_to_id;
  std::string meta;  // canonical JSON; empty: none
  std::string body;  // the bytes that the fingerprint covers
};

// The entries after a sequence, without gaps.
Result<std::vector<HistoryEntry>> read_history(SqlSession& session, std::string_view mesh_id,
                                               const Destination& destination,
                                               std::uint64_t after_seq, std::uint32_t limit);

struct MentionEntry {
  std::string broker_message_id;
  std::uint64_t history_seq = 0;
  Destination destination;
  TimeMs created_at;
};

// Of messages that exist, in the order of their ids, after one of them (or all: empty).
Result<std::vector<MentionEntry>> read_mentions(SqlSession& session, std::string_view mesh_id,
                                                std::string_view pubkey, std::string_view after_id,
                                                std::uint32_t limit);

}  // namespace holdfast::delivery

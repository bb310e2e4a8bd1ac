// BrokerOracle: the delivery contract of a broker as a small sequential model, written from the
// documents. It shares no code with the broker.
//
// The simulation reports when a request reads, reaches the limiter and is in a transaction; the
// oracle decides what the answer must be, and which rows all tables must have. What the broker may
// choose (the ids it makes, which rows a sweep takes first) is given to it and checked.
//
// The first disagreement is kept in broken(); nothing is decided after it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/broker_sim/sim_message.h"

namespace holdfast::broker_sim {

inline constexpr std::int64_t kOracleDayMs = 86'400'000;

struct OracleWorkspace {
  std::string mesh_id;
  std::uint64_t limit = 0;  // 0: none
  std::int64_t window_ms = 0;
  std::int64_t dedupe_days = 0;  // 0: permanent
  std::int64_t message_days = 0;
  std::uint64_t inline_bytes = 0;
};

struct OracleMember {
  std::string member_id;
  std::string mesh_id;
  std::string pubkey;
  std::string name;
  bool revoked = false;
};

struct OracleTopic {
  bool closed = false;
  bool sender_excluded = false;
  bool archived = false;
  std::map<std::string, std::string> subscriptions = {};  // member_id to role
};

struct OracleQueue {
  bool lanes = false;
  std::uint64_t max_deliveries = 0;
  std::int64_t lease_ms = 0;
};

// What a consumer holds, or what an answer says about it.
struct OracleHeld {
  std::string mesh_id;
  std::string queue;
  std::string member_id;
  std::string lease;
  std::vector<std::string> ids = {};
};

enum class OracleSettlement : std::uint8_t { ack, nack, extend };

// What an answer must be.
struct OracleAnswer {
  int status = 0;
  std::string error = {};  // of a rejection
  std::string broker_message_id = {};
  std::string history_id = {};
  std::string prefix = {};  // of a 409
  std::int64_t first_seen_at = 0;
  bool available = true;
  std::uint64_t fanout = 0;
};

// One request on its way.
struct OracleRequest {
  enum class Next : std::uint8_t { begin, budget, transaction, answer };

  const SimMessage* message = nullptr;
  std::int64_t now = 0;  // the clock of the broker when the request began
  Next next = Next::begin;
  OracleAnswer answer = {};
  bool failed = false;         // by an injected fault: any answer of 500 or above is right
  bool charged = false;        // the limiter was consulted
  bool b2_refused = false;     // inside the transaction
  bool refusal_noted = false;  // the limiter has counted it
};

enum class OracleBudget : std::uint8_t { admitted, denied, unavailable };

class BrokerOracle {
 public:
  using Table = std::vector<std::string>;  // its rows, sorted
  using Tables = std::map<std::string, Table>;

  // What the administrator has changed. Times are those of the broker.
  void add_workspace(const std::string& name, const OracleWorkspace& workspace);
  void set_inline_bytes(const std::string& workspace, std::uint64_t bytes);
  void add_member(const std::string& token, const OracleMember& member);
  void revoke(const std::string& member_id);
  void add_topic(const std::string& mesh_id, const std::string& name, const OracleTopic& topic);
  void archive(const std::string& mesh_id, const std::string& topic);
  // Whether there is something to subscribe to.
  bool subscribe(const std::string& mesh_id, const std::string& topic, const std::string& member_id,
                 const std::string& role);
  void unsubscribe(const std::string& mesh_id, const std::string& topic,
                   const std::string& member_id);
  void add_queue(const std::string& mesh_id, const std::string& name, const OracleQueue& queue);
  // A receiver has taken all that waits for it.
  void deliver(const std::string& member_id);

  // Queues. A claim gives the messages that it must get; they are leased.
  std::vector<std::string> claim(const OracleHeld& consumer, std::size_t limit, std::int64_t now);
  // Which messages are not changed, as "id reason", and which are dead afterwards.
  struct Settled {
    std::vector<std::string> fenced;
    std::vector<std::string> dead;
  };
  Settled settle(const OracleHeld& held, OracleSettlement how, std::int64_t delay_ms,
                 std::int64_t now);
  void advance_queues(std::int64_t now);

  // The steps of a request, in their order.
  void begin(OracleRequest& request);
  void budget(OracleRequest& request, OracleBudget given);
  // The transaction is committed, and this request was in it; the ids are those it would give.
  void transact(OracleRequest& request, const std::string& broker_message_id,
                const std::string& history_id);
  void note_refused(OracleRequest& request);
  void check_answer(const OracleRequest& request, const OracleAnswer& given);

  // The jobs: what they took, and how many they reported.
  void swept(std::int64_t now, std::size_t limit, const std::set<std::string>& left,
             std::uint64_t reported);
  void pruned(std::int64_t now, std::size_t limit, const std::set<std::string>& left,
              std::uint64_t reported);
  [[nodiscard]] static std::string dedupe_key(const std::string& mesh_id, const std::string& sender,
                                              const std::string& id) {
    return mesh_id + "/" + sender + "/" + id;
  }

  // Of a member, as GET /v1/history and /v1/mentions show them: "seq id pruned", "id seq".
  [[nodiscard]] std::vector<std::string> history_of(const std::string& mesh_id,
                                                    const std::string& kind,
                                                    const std::string& ref) const;
  [[nodiscard]] std::vector<std::string> mentions_of(const std::string& pubkey) const;

  [[nodiscard]] Tables tables() const;
  void fail(const std::string& what);
  [[nodiscard]] const std::optional<std::string>& broken() const { return broken_; }
  // How often a row was swept and its id accepted again; and a claim met the row of another.
  [[nodiscard]] std::uint64_t accepted_again() const { return accepted_again_; }
  [[nodiscard]] std::uint64_t met_in_transaction() const { return met_in_transaction_; }

 private:
  using Place = std::array<std::string, 3>;  // mesh, kind, ref

  struct Dedupe {
    std::string mesh_id;
    std::string sender;
    std::string id;
    std::string broker_message_id;
    std::string history_id;
    std::string fingerprint;
    std::string kind;
    std::string ref;
    std::int64_t first_seen_at = 0;
    std::int64_t expires_at = 0;  // 0: never
    std::int64_t pruned_at = 0;   // 0: it was not
  };
  struct Message {
    Place place;
    std::string sender;
    SimMessage sent;
    std::int64_t created_at = 0;
    std::uint64_t fanout = 0;
    std::uint64_t seq = 0;
  };
  struct History {
    std::string history_id;
    std::string broker_message_id;
    std::int64_t created_at = 0;
    std::int64_t pruned_at = 0;
  };
  struct Delivery {
    std::string mesh_id;
    std::uint64_t seq = 0;
    std::string priority;
    std::int64_t created_at = 0;
    bool ended = false;
  };
  struct QueueItem {
    std::string mesh_id;
    std::string queue;
    std::string lane;
    std::string key;
    std::uint64_t rank = 0;
    std::uint64_t seq = 0;
    std::string state = "ready";
    std::int64_t due_at = 0;
    std::int64_t expires_at = 0;
    std::uint64_t deliveries = 0;
    std::string lease;
    std::string member_id;
    std::int64_t ended_at = 0;
    std::string reason;

    [[nodiscard]] bool open() const {
      return state == "ready" || state == "delayed" || state == "leased";
    }
  };
  struct Counter {
    std::int64_t window = 0;
    std::uint64_t count = 0;
  };
  struct Marker {
    std::int64_t until = 0;  // the last window
    std::uint64_t refused = 0;
  };

  static void refuse(OracleRequest& request, int status, const std::string& error);
  static void repeat(OracleRequest& request, const Dedupe& row);
  const OracleMember* sender_of(const OracleRequest& request) const;
  const OracleWorkspace* workspace_of(const std::string& mesh_id) const;
  std::string key_of(const OracleRequest& request) const;
  std::string marker_of(const OracleRequest& request) const;
  // Empty: none.
  std::string refusal_of_caller(const SimMessage& message) const;
  static std::string refusal_of_content(const SimMessage& message);
  std::string refusal_of_destination(const OracleMember& sender, const SimMessage& message) const;
  [[nodiscard]] bool is_stale(const OracleWorkspace& workspace, const OracleRequest& request) const;
  OracleBudget consume(const OracleWorkspace& workspace, const OracleRequest& request);
  void accept(OracleRequest& request, const OracleMember& sender, const std::string& id,
              const std::string& history_id);
  [[nodiscard]] std::set<std::string> recipients(const OracleMember& sender,
                                                 const SimMessage& message) const;
  [[nodiscard]] std::set<std::string> mentioned(const OracleMember& sender,
                                                const SimMessage& message) const;
  [[nodiscard]] bool may_prune(const std::string& id, const Message& message,
                               std::int64_t now) const;
  void prune(const std::string& id, std::int64_t now);
  void add_item(const std::string& id, const OracleMember& sender, const SimMessage& message,
                std::uint64_t seq, std::int64_t now);
  void advance(const std::string& mesh_id, const std::string& queue, std::int64_t now);
  static void end_item(QueueItem& item, const std::string& state, std::int64_t now,
                       const std::string& reason);
  static void free_item(QueueItem& item, std::int64_t due_at);

  std::map<std::string, OracleWorkspace> workspaces_;  // by name
  std::map<std::string, OracleMember> members_;        // by token
  std::map<std::pair<std::string, std::string>, OracleTopic> topics_;
  std::map<std::pair<std::string, std::string>, OracleQueue> queues_;
  std::map<std::string, QueueItem> items_;  // of queues, by broker id
  std::map<std::string, Counter> counters_;
  std::map<std::string, Marker> markers_;

  std::map<std::string, Dedupe> dedupe_;
  std::map<std::string, Message> messages_;  // by broker id
  std::map<Place, std::vector<History>> histories_;
  std::map<std::pair<std::string, std::string>, Delivery> deliveries_;  // message, recipient
  std::set<std::pair<std::string, std::string>> mentions_;              // message, public key

  std::set<std::string> swept_keys_;
  std::uint64_t accepted_again_ = 0;
  std::uint64_t met_in_transaction_ = 0;
  std::optional<std::string> broken_;
};

}  // namespace holdfast::broker_sim

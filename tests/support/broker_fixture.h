// What the tests of a broker share: a store of either kind, a workspace with members and
// destinations, and a look at all tables.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "delivery/broker/broker.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/broker/broker_lookup.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/mapped_limiter.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/rejection.h"
#include "tests/support/must.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/temp_dir.h"

namespace holdfast::delivery {

enum class StoreKind { sqlite, postgres };

inline std::string store_kind_name(const ::testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::sqlite ? "sqlite" : "postgres";
}

inline const std::vector<std::string> kBrokerTables{"client_message_dedupe",
                                                    "topic_message",
                                                    "message_queue",
                                                    "message_history",
                                                    "delivery_queue",
                                                    "mention_index",
                                                    "destination",
                                                    "mesh",
                                                    "member",
                                                    "topic",
                                                    "queue",
                                                    "queue_entry",
                                                    "queue_consumer",
                                                    "topic_subscription"};

inline constexpr std::int64_t kStartMs = 1'700'000'000'000;

class BrokerFixture : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (GetParam() == StoreKind::postgres) {
      must(cluster().start());
    }
    open();
    set_up_workspace();
  }

  static PostgresCluster& cluster() { return PostgresCluster::shared(); }

  static PostgresUrl postgres_url() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    name = "t_" + name.substr(0, 50);
    for (char& c : name) {
      c = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
              ? c
              : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : '_');
    }
    const std::string url = cluster().url(name);
    return must(parse_postgres_url(std::string_view(url).substr(url.find("//") + 2)));
  }

  std::unique_ptr<BrokerStore> open_store(const BrokerStoreOptions& options = {}) const {
    return GetParam() == StoreKind::sqlite
               ? must(open_sqlite_broker_store(folder_.file("broker.db"), options))
               : must(open_postgres_broker_store(postgres_url(), options));
  }

  // (Again) the store, the limiter and the broker.
  void open(const BrokerStoreOptions& options = {}) {
    broker_.reset();
    store_.reset();
    limiter_.reset();
    store_ = open_store(options);
    limiter_ = must(MappedLimiter::open(folder_.file("limits")));
    broker_ = std::make_unique<Broker>(*store_, *limiter_, clock_, random_);
  }

  void write(const BrokerStore::Work& work) { must(store_->write(work)); }

  Workspace add_workspace(const std::string& slug, std::uint64_t limit = 0) {
    Workspace workspace;
    workspace.mesh_id = ulid();
    workspace.slug = slug;
    workspace.rate_limit_per_window = limit;
    write([&](SqlSession& s) { return create_workspace(s, workspace, clock_.now()); });
    return workspace;
  }

  // The token is "token-" and the name, in the workspace of fixture "team" unless another is given.
  Member add_member(const std::string& mesh_id, const std::string& name,
                    const std::string& token = "") {
    const Member member{ulid(), mesh_id, to_hex(sha256("key of " + name)), name,
                        sha256(token.empty() ? "token-" + name : token)};
    write([&](SqlSession& s) { return create_member(s, member, clock_.now()); });
    return member;
  }

  void set_up_workspace() {
    team_ = add_workspace("team");
    ann_ = add_member(team_.mesh_id, "ann");
    ben_ = add_member(team_.mesh_id, "Ben", "token-ben");
    cat_ = add_member(team_.mesh_id, "cat");
    write([&](SqlSession& s) -> Result<void> {
      const TimeMs now = clock_.now();
      HOLDFAST_CHECK(create_topic(s, {team_.mesh_id, "alerts", {}, {}}, now));
      HOLDFAST_CHECK(create_topic(s, {team_.mesh_id, "inner", TopicAccess::closed, {}}, now));
      HOLDFAST_CHECK(create_topic(s, {team_.mesh_id, "empty", {}, {}}, now));
      HOLDFAST_CHECK(create_queue(s, team_.mesh_id, "jobs", now));
      HOLDFAST_CHECK(subscribe(s, {team_.mesh_id, "alerts", ann_.member_id, {}}, now));
      return subscribe(s, {team_.mesh_id, "alerts", ben_.member_id, {}}, now);
    });
  }

  static MessageRequest request(const std::string& id, const std::string& body,
                                const Destination& to = {DestinationKind::topic, "alerts"},
                                const std::vector<std::string>& mentions = {}) {
    MessageRequest request;
    request.mesh = "team";
    request.client_message_id = id;
    request.envelope_version = kEnvelopeVersion;
    request.destination = to;
    request.body = body;
    request.mentions = mentions;
    request.request_fingerprint =
        fingerprint_of({.destination = to, .reply_to = {}, .meta = {}, .body = body});
    return request;
  }

  Result<AcceptReply> send(const std::string& token, const MessageRequest& message) {
    return broker_->accept(token, message);
  }
  Result<AcceptReply> send(const MessageRequest& message) { return send("token-ann", message); }

  // The name of the rejection; "created", "duplicate", or the code of another error.
  static std::string outcome_of(const Result<AcceptReply>& reply) {
    if (reply.ok()) {
      return reply.value().duplicate ? "duplicate" : "created";
    }
    const auto rejection = rejection_of(reply.error());
    return rejection.has_value() ? std::string(rejection_info(*rejection).name) : code_of(reply);
  }

  SqlRows query(const std::string& sql, const SqlParams& params = {}) {
    SqlRows rows;
    must(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(rows, s.query(sql, params));
      return {};
    }));
    return rows;
  }
  std::int64_t count(const std::string& from) {
    return query("SELECT count(*) FROM @." + from)[0][0].integer;
  }
  void execute(const std::string& sql) {
    write([&](SqlSession& s) -> Result<void> {
      HOLDFAST_CHECK(s.execute(sql, {}));
      return {};
    });
  }

  // Every cell of every table.
  std::string all_tables() {
    std::string text;
    for (const std::string& table : kBrokerTables) {
      text += table + ":\n";
      for (const auto& row : query("SELECT * FROM @." + table + " ORDER BY 1, 2, 3")) {
        for (const SqlCell& cell : row) {
          text += cell.null ? "(null)" : cell.bytes;
          text += '|';
        }
        text += '\n';
      }
    }
    return text;
  }

  std::string ulid() {
    std::array<std::byte, 10> entropy{};
    random_.fill(entropy);
    return ulids_.next(clock_.now(), entropy).text();
  }

  TempDir folder_;
  ManualClock clock_{TimeMs{kStartMs}};
  SeededRandom random_{18};
  UlidSequence ulids_;
  std::unique_ptr<BrokerStore> store_;
  std::unique_ptr<MappedLimiter> limiter_;
  std::unique_ptr<Broker> broker_;
  Workspace team_;
  Member ann_;
  Member ben_;
  Member cat_;
};

}  // namespace holdfast::delivery

// A broker that is killed at the fault points of queues, under senders and consumers, on both
// stores: each message that was accepted is acknowledged by exactly one consumer, none is lost, and
// an acknowledgement that comes too late changes nothing.
//
// HOLDFAST_LONG=1: 5,000 kills for each store instead of 60.
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <set>

#include "base/fields.h"
#include "base/json_writer.h"
#include "base/threads.h"
#include "delivery/broker/orphan_check.h"
#include "net/http_client.h"
#include "tests/faults/broker_victim_process.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_queue_fault_test {
namespace {

constexpr auto kPoints = std::to_array<FaultPoint>(
    {FaultPoint::claimed, FaultPoint::history_inserted, FaultPoint::before_commit,
     FaultPoint::after_commit, FaultPoint::replied, FaultPoint::queue_read,
     FaultPoint::queue_written, FaultPoint::queue_committed, FaultPoint::queue_written,
     FaultPoint::queue_committed});
constexpr int kConsumers = 4;
constexpr int kSenders = 2;
constexpr std::int64_t kLeaseMs = 150;
constexpr std::uint64_t kMostOpen = 60;  // messages that are sent ahead of the acknowledgements
constexpr auto kHttpTime = std::chrono::milliseconds(120'000);

int wanted_kills() { return std::getenv("HOLDFAST_LONG") != nullptr ? 5'000 : 60; }

class BrokerQueueFaults : public BrokerFixture {
 protected:
  using Held = std::map<std::string, std::int64_t>;  // message: the number of the delivery

  void SetUp() override {
    BrokerFixture::SetUp();
    write([&](SqlSession& s) -> Result<void> {
      const TimeMs now = clock_.now();
      HOLDFAST_CHECK(
          create_queue(s, team_.mesh_id, "work", now, {.max_deliveries = 0, .lease_ms = kLeaseMs}));
      return create_queue(s, team_.mesh_id, "rows", now,
                          {.order = QueueOrder::lanes, .max_deliveries = 0, .lease_ms = kLeaseMs});
    });
    broker_.reset();
    store_.reset();
    limiter_.reset();
  }

  std::string victim_store() const {
    return GetParam() == StoreKind::sqlite ? "sqlite:" + folder_.file("broker.db")
                                           : cluster().url(postgres_url().schema);
  }
  std::vector<std::string> victim(int point, std::uint64_t times) const {
    return {HOLDFAST_BROKER_VICTIM, victim_store(),        folder_.file("victim-limits"),
            folder_.file("socket"), std::to_string(point), std::to_string(times)};
  }
  static std::string queue_of(std::uint64_t number) { return number % 3 == 0 ? "rows" : "work"; }

  std::unique_ptr<net::HttpClient> client(const std::string& token) const {
    net::HttpOptions options;
    options.token = token;
    return must(net::HttpClient::create("unix:" + folder_.file("socket"), options));
  }

  // The JSON of an answer with status 200 or 201, repeated until there is one; none at the end.
  std::optional<Json> ask(net::HttpClient& http, const std::string& target, const std::string& body,
                          const std::atomic<bool>& end) {
    while (!end) {
      net::HttpCall call;
      call.method = "POST";
      call.target = target;
      call.body = body;
      call.content_type = "application/json";
      call.timeout = kHttpTime;
      const net::HttpOutcome outcome = http.send(call);
      if (outcome.kind == net::HttpOutcome::Kind::answered && outcome.status < 300) {
        return must(Json::parse(outcome.body));
      }
      EXPECT_TRUE(outcome.kind != net::HttpOutcome::Kind::answered || outcome.status >= 500)
          << outcome.status << " " << outcome.body;
      poll(nullptr, 0, 2);  // until there is a broker again
    }
    return std::nullopt;
  }

  void be_a_sender(int number) {
    send_all(number);
    --senders_;
  }
  void send_all(int number) {
    const auto http = client("token-ann");
    for (std::uint64_t n = 0; !no_more_;) {
      if (sent_ > acknowledged_ + kMostOpen) {
        poll(nullptr, 0, 2);
        continue;
      }
      const std::uint64_t id = kSenders * n++ + static_cast<std::uint64_t>(number);
      const MessageRequest message =
          request("m-" + std::to_string(id), "text", {DestinationKind::queue, queue_of(id)});
      const std::string body(must(to_json(message)).view());
      // Also after the last kill: what was begun is accepted.
      const auto answer = ask(*http, "/v1/messages", body, finished_);
      if (answer.has_value()) {
        ++sent_;
        const std::lock_guard lock(mutex_);
        accepted_.insert(std::string(answer->text("broker_message_id")));
      }
    }
  }

  // Takes some, keeps a few of them for too long, gives a few back, and acknowledges the rest.
  void be_a_consumer(int number) {
    const auto http = client(number % 2 == 0 ? "token-ben" : "token-cat");
    SeededRandom random(static_cast<std::uint64_t>(number) + 40);
    while (!drained_) {
      const std::string queue = "/v1/queues/" + queue_of(random.below(3));
      const auto claimed = ask(*http, queue + "/claim", R"({"limit":4,"wait_ms":20})", drained_);
      const auto messages = claimed.has_value() ? claimed->find("messages") : std::nullopt;
      if (!messages.has_value() || messages->size() == 0) {
        continue;
      }
      Held held;
      for (std::size_t i = 0; i < messages->size(); ++i) {
        const Json one = messages->item(i);
        held.emplace(one.text("broker_message_id"), one.integer("delivery").value_or(0));
      }
      take_note(held);
      const std::uint64_t what = random.below(10);
      if (what == 0) {
        poll(nullptr, 0, 2 * static_cast<int>(kLeaseMs));  // the acknowledgement will be late
      }
      settle(*http, queue + (what == 1 ? "/nack" : "/ack"), std::string(claimed->text("lease")),
             held);
    }
  }

  // The deliveries of a message are numbered, so that it does not matter in which order consumers
  // come to note them: none may follow the one that was acknowledged.
  void take_note(const Held& held) {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, delivery] : held) {
      newest_[id] = std::max(newest_[id], delivery);
      check_newest(id);
    }
  }
  void check_newest(const std::string& id) {
    const auto acked = acked_.find(id);
    EXPECT_TRUE(acked == acked_.end() || newest_[id] <= acked->second)
        << id << " was given out after its acknowledgement";
  }

  void settle(net::HttpClient& http, const std::string& target, const std::string& lease,
              const Held& held) {
    JsonWriter json;
    json.begin_object().member("lease", lease).key("broker_message_ids").begin_array();
    for (const auto& [id, delivery] : held) {
      json.string(id);
    }
    json.end_array().end_object();
    const auto answer = ask(http, target, std::move(json).take(), drained_);
    if (!answer.has_value()) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (const auto acked = answer->find("acked")) {
      for (std::size_t i = 0; i < acked->size(); ++i) {
        const std::string id(*acked->item(i).string());
        EXPECT_TRUE(acked_.emplace(id, held.at(id)).second) << id << " was acknowledged twice";
        check_newest(id);
        ++acknowledged_;
      }
    }
    fenced_ += answer->find("fenced")->size();
  }

  std::atomic<int> senders_{kSenders};
  std::atomic<bool> no_more_{false};
  std::atomic<bool> finished_{false};
  std::atomic<bool> drained_{false};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> acknowledged_{0};
  std::mutex mutex_;
  std::set<std::string> accepted_;              // guarded by mutex_, and so is what follows
  std::map<std::string, std::int64_t> acked_;   // message: which delivery
  std::map<std::string, std::int64_t> newest_;  // that was noted
  std::uint64_t fenced_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerQueueFaults,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerQueueFaults, QU_15_each_message_is_acknowledged_once_after_kills_at_every_point) {
  ThreadGroup threads;
  std::vector<std::function<void()>> bodies;
  for (int i = 0; i < kSenders; ++i) {
    bodies.emplace_back([this, i] { be_a_sender(i); });
  }
  for (int i = 0; i < kConsumers; ++i) {
    bodies.emplace_back([this, i] { be_a_consumer(i); });
  }
  must(threads.start(bodies));
  SeededRandom random(23);
  const int kills = wanted_kills();
  for (int round = 0; round < kills && !HasFailure(); ++round) {
    const auto point = kPoints.at(static_cast<std::size_t>(round) % kPoints.size());
    const std::uint64_t times = 1 + random.below(10);
    Victim one(victim(static_cast<int>(point), times));
    EXPECT_TRUE(one.wait_for_kill()) << "at point " << static_cast<int>(point);
  }
  // The last broker lives until everything is acknowledged.
  Victim last(victim(-1, 1));
  no_more_ = true;
  const auto deadline = std::chrono::steady_clock::now() + kHttpTime;
  const auto everything_is_acknowledged = [&] {
    const std::lock_guard lock(mutex_);
    return acked_.size() >= accepted_.size();
  };
  while (std::chrono::steady_clock::now() < deadline && !HasFailure()) {
    poll(nullptr, 0, 20);
    if (senders_ == 0 && everything_is_acknowledged()) {
      break;
    }
  }
  finished_ = true;
  drained_ = true;
  threads.join();
  EXPECT_FALSE(accepted_.empty());
  for (const std::string& id : accepted_) {
    EXPECT_TRUE(acked_.contains(id)) << id << " is lost";
  }
  EXPECT_GT(fenced_, 0U) << "no acknowledgement was late";
  std::cout << kills << " kills, " << accepted_.size() << " messages, " << fenced_ << " fenced\n";
}

}  // namespace
}  // namespace holdfast::delivery::broker_queue_fault_test

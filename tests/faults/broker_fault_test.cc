// A broker that is killed at every fault point under clients that repeat their messages, on both
// stores. One order must explain all answers to each id, and afterwards every message that was
// accepted is there once, with all of its rows.
//
// HOLDFAST_LONG=1: 5,000 kills for each store instead of 60.
#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <iostream>

#include "base/fields.h"
#include "base/threads.h"
#include "delivery/broker/orphan_check.h"
#include "net/http_client.h"
#include "tests/faults/accept_model.h"
#include "tests/faults/broker_victim_process.h"
#include "tests/faults/fault_history.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_fault_test {
namespace {

constexpr int kPoints = static_cast<int>(FaultPoint::message_pruned) + 1;
constexpr int kOpsPerId = 12;
constexpr std::size_t kClients = 6;
constexpr int kDeadlineMs = 120'000;

int wanted_kills() { return std::getenv("HOLDFAST_LONG") != nullptr ? 5'000 : 60; }

class BrokerFaults : public BrokerFixture {
 protected:
  void close_store() {
    broker_.reset();
    store_.reset();
    limiter_.reset();
  }

  std::string victim_store() const {
    return GetParam() == StoreKind::sqlite ? "sqlite:" + folder_.file("broker.db")
                                           : cluster().url(postgres_url().schema);
  }

  // Messages of long ago, which the first sweep of a broker takes.
  void plant_old(int round) {
    open();
    for (int i = 0; i < 4; ++i) {
      must(send(request("old-" + std::to_string(round) + "-" + std::to_string(i), "old",
                        {DestinationKind::topic, "empty"}, {"ben"})));
    }
    close_store();
  }

  void kill_once(int round, SeededRandom& random) {
    const int point = round % kPoints;
    const bool of_sweep = point >= static_cast<int>(FaultPoint::rows_swept);
    if (of_sweep) {
      plant_old(round);
    }
    const std::uint64_t times =
        point == static_cast<int>(FaultPoint::rows_swept) ? 1 : 1 + random.below(of_sweep ? 4 : 12);
    Victim victim({HOLDFAST_BROKER_VICTIM, victim_store(), folder_.file("victim-limits"),
                   folder_.file("socket"), std::to_string(point), std::to_string(times)});
    ASSERT_TRUE(victim.wait_for_kill()) << "at point " << point << ", " << times << " times";
    const std::lock_guard lock(mutex_);
    deaths_.push_back(clock_ns(CLOCK_MONOTONIC));
  }

  // Clients

  // Some ids go to a topic that does not exist.
  MessageRequest message_of(std::uint64_t id, const std::string& content) const {
    const std::vector<Destination> all{{DestinationKind::topic, "alerts"},
                                       {DestinationKind::dm, ben_.pubkey},
                                       {DestinationKind::queue, "jobs"},
                                       {DestinationKind::topic, "missing"}};
    return request("m-" + std::to_string(id), content, all[id % 9 == 8 ? 3 : id % 3],
                   {"ben", "cat"});
  }

  static std::string content_of(std::string_view prefix, const MessageRequest& message) {
    for (const std::string content : {"text", "other"}) {
      MessageRequest sample = BrokerFixture::request("x", content, message.destination);
      if (prefix == fingerprint_prefix(sample.request_fingerprint)) {
        return content;
      }
    }
    return "unknown";
  }

  // The answer; none when the outcome is unknown.
  std::optional<AcceptModel::Response> response_of(const net::HttpOutcome& outcome,
                                                   const MessageRequest& message) {
    if (outcome.kind != net::HttpOutcome::Kind::answered || outcome.status >= 500) {
      return std::nullopt;
    }
    const Json json = must(Json::parse(outcome.body));
    const std::string broker_id(json.text("broker_message_id"));
    const std::string content = content_of(json.text("broker_fingerprint_prefix"), message);
    switch (outcome.status) {
      case 201:
        return AcceptModel::Response{"created", broker_id, ""};
      case 200:
        return json.text("broker_fingerprint_prefix").empty()
                   ? AcceptModel::Response{"duplicate", broker_id, ""}
                   : AcceptModel::Response{"found", broker_id, content};
      case 409:
        return AcceptModel::Response{"conflict", "", content};
      case 404:
        return AcceptModel::Response{json.text("error").empty() ? "absent" : "refused", "", ""};
      default:
        return AcceptModel::Response{std::to_string(outcome.status), "", ""};
    }
  }

  // One request, once it was sent; false: there is no broker now.
  bool call_once(net::HttpClient& client, const std::string& who, const AcceptModel::Op& op,
                 std::uint64_t id, bool& answered) {
    const MessageRequest message = message_of(id, op.lookup ? "text" : op.content);
    const std::string body(must(to_json(message)).view());
    const std::string target =
        op.lookup ? "/v1/dedupe/" + message.client_message_id : "/v1/messages";
    Call<AcceptModel> call{
        op, {}, clock_ns(CLOCK_MONOTONIC), std::numeric_limits<std::int64_t>::max(), who};
    net::HttpCall http;
    http.method = op.lookup ? "GET" : "POST";
    http.target = target;
    http.timeout = std::chrono::milliseconds(kDeadlineMs);
    if (!op.lookup) {
      http.body = body;
      http.content_type = "application/json";
    }
    const net::HttpOutcome outcome = client.send(http);
    if (outcome.kind == net::HttpOutcome::Kind::nothing_sent) {
      return false;
    }
    call.answer = response_of(outcome, message);
    answered = call.answer.has_value();
    call.answered_at = answered ? clock_ns(CLOCK_MONOTONIC) : call.answered_at;
    const std::lock_guard lock(mutex_);
    history_[message.client_message_id].push_back(std::move(call));
    return true;
  }

  // Sends one message after the other, each until it is answered.
  void be_a_client(int number) {
    net::HttpOptions options;
    options.token = "token-ann";
    const auto client = must(net::HttpClient::create("unix:" + folder_.file("socket"), options));
    SeededRandom random(static_cast<std::uint64_t>(number) + 100);
    for (int attempt = 0; !finished_;) {
      const std::uint64_t id = next_++ / kOpsPerId;
      AcceptModel::Op op{random.below(8) == 0, random.below(5) == 0 ? "other" : "text"};
      bool answered = false;
      while (!answered && !finished_) {
        const std::string who = std::to_string(number) + "." + std::to_string(++attempt);
        if (!call_once(*client, who, op, id, answered)) {
          poll(nullptr, 0, 2);  // until there is a broker again
        }
      }
    }
  }

  // What was not answered has taken effect before its broker died, or never will.
  void bound_unknown() {
    const std::int64_t late_ns = GetParam() == StoreKind::sqlite ? 0 : 1'000'000'000;
    for (auto& [id, calls] : history_) {
      for (Call<AcceptModel>& call : calls) {
        const auto death = std::lower_bound(deaths_.begin(), deaths_.end(), call.called_at);
        if (!call.answer.has_value() && death != deaths_.end()) {
          call.answered_at = *death + late_ns;
        }
      }
    }
  }

  std::map<std::string, std::size_t> count_answers() const {
    std::map<std::string, std::size_t> words;
    for (const auto& [id, calls] : history_) {
      for (const Call<AcceptModel>& call : calls) {
        ++words[call.answer.has_value() ? call.answer->word : "?"];
      }
    }
    return words;
  }

  // Everything that was answered as accepted is there once, with its deliveries and mentions.
  void check_rows() {
    open();
    for (const auto& [id, calls] : history_) {
      for (const Call<AcceptModel>& call : calls) {
        if (call.answer.has_value() && !call.answer->broker_id.empty()) {
          accepted_[id] = call.answer->broker_id;
        }
      }
    }
    std::map<std::string, std::string> stored;
    for (const auto& row :
         query("SELECT client_message_id, broker_message_id FROM @.client_message_dedupe "
               "WHERE client_message_id LIKE 'm-%'")) {
      EXPECT_TRUE(stored.emplace(row[0].bytes, row[1].bytes).second);
    }
    for (const auto& [id, broker_id] : accepted_) {
      EXPECT_EQ(stored[id], broker_id) << id;
    }
    const std::string mine = " WHERE client_message_id LIKE 'm-%'";
    const std::int64_t messages = count("topic_message" + mine) + count("message_queue" + mine);
    EXPECT_EQ(messages, static_cast<std::int64_t>(stored.size()));
    EXPECT_EQ(count("mention_index WHERE broker_message_id IN (SELECT broker_message_id FROM "
                    "@.client_message_dedupe" +
                    mine + ")"),
              2 * messages);
    EXPECT_EQ(must(check_orphans(*store_, SystemClock().now(), {})).total(), 0U);
  }

  std::atomic<bool> finished_{false};
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::map<std::string, Calls<AcceptModel>> history_;  // guarded by mutex_
  std::vector<std::int64_t> deaths_;                   // guarded by mutex_
  std::map<std::string, std::string> accepted_;
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerFaults,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerFaults, answers_are_linearizable_per_id_and_whole_after_kills_at_every_point) {
  close_store();
  ThreadGroup clients;
  std::vector<std::function<void()>> bodies;
  for (std::size_t i = 0; i < kClients; ++i) {
    bodies.emplace_back([this, i] { be_a_client(static_cast<int>(i)); });
  }
  must(clients.start(bodies));
  SeededRandom random(17);
  const int kills = wanted_kills();
  for (int round = 0; round < kills && !HasFatalFailure(); ++round) {
    kill_once(round, random);
    if ((round + 1) % 500 == 0) {
      std::cout << round + 1 << " kills" << std::endl;
    }
  }
  finished_ = true;
  clients.join();
  bound_unknown();
  const HistoryVerdict verdict = check_histories(history_);
  EXPECT_EQ(verdict.kind, HistoryVerdict::Kind::linearizable) << verdict.report;
  const auto answers = count_answers();
  for (const char* word : {"created", "duplicate", "conflict", "refused", "found", "absent", "?"}) {
    EXPECT_TRUE(answers.contains(word)) << "never seen: " << word;
  }
  for (const auto& [word, times] : answers) {
    std::cout << "  " << times << " " << word << "\n";
  }
  std::cout << deaths_.size() << " kills, " << history_.size() << " ids, " << verdict.examined
            << " states examined\n";
  check_rows();
}

}  // namespace
}  // namespace holdfast::delivery::broker_fault_test

// What the broker benchmark sends: a workspace with topics of 1, 10 and 100 subscribers, and
// messages to them, as rows for a store and as requests for a service.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "delivery/broker/broker_store.h"
#include "delivery/contract/message_id.h"
#include "holdfast/result.h"

namespace holdfast {

inline constexpr std::array<std::size_t, 3> kFanOuts{1, 10, 100};
inline constexpr std::string_view kBenchMesh = "bench";
inline constexpr std::string_view kBenchQueue = "work";
inline constexpr std::string_view kBenchToken = "token-of-the-sender";
inline constexpr std::size_t kMessageBytes = 256;

class BrokerSample {
 public:
  BrokerSample(Clock& clock, Random& random) : clock_(clock), random_(random) {}

  // Creates the workspace with its members, topics and queue.
  Result<void> populate(delivery::BrokerStore& store);

  // A new message to the topic with so many subscribers, or to the queue where there are none, past
  // every check before the transaction.
  delivery::AcceptRow row(std::size_t fan_out);
  std::vector<delivery::AcceptRow> group(std::size_t messages, std::size_t fan_out);
  // The body of POST /v1/messages, before and after the number of the message, which has 16 digits.
  struct Request {
    std::string before;
    std::string after;
  };
  [[nodiscard]] static Request request(std::size_t fan_out);
  [[nodiscard]] static std::string payload();
  // The public key of the sender.
  [[nodiscard]] static std::string sender_key();

  [[nodiscard]] const std::string& mesh_id() const { return mesh_id_; }
  [[nodiscard]] const std::string& sender_id() const { return sender_id_; }
  // The members that are subscribed; the first so many of them to each topic.
  [[nodiscard]] const std::vector<std::string>& recipients() const { return recipients_; }

 private:
  std::string next_id();

  Clock& clock_;
  Random& random_;
  delivery::UlidSequence ids_;
  std::string mesh_id_ = next_id();
  std::string sender_id_ = next_id();
  std::vector<std::string> recipients_;
  std::uint64_t messages_ = 0;
};

}  // namespace holdfast

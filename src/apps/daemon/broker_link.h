// BrokerLink: the requests of a daemon to its broker, over HTTP: the features, the acceptance of a
// message, and whether it has one. Nothing is stored here.
//
// Any thread; a call blocks its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/json_value.h"
#include "delivery/contract/features.h"
#include "delivery/contract/max_age.h"
#include "delivery/daemon/outbox.h"
#include "holdfast/result.h"
#include "net/http_client.h"

namespace holdfast::delivery {

struct BrokerSettings {
  std::vector<std::string> urls = {};  // tried in turn
  std::string token = {};              // of the member
  std::string tls_ca = {};
  MaxAgeSettings max_age = {};
};

// The JSON of an answer, with any white space.
template <HasFields T>
Result<T> read_answer(std::string_view body) {
  HOLDFAST_TRY(const JsonText json, JsonText::parse(body));
  return from_json<T>(json.view());
}

// A connection that was negotiated.
struct BrokerSession {
  std::shared_ptr<net::HttpClient> http = {};
  std::string url = {};
  std::int64_t max_age_ms = 0;
  std::uint64_t inline_bytes = 0;
  std::int64_t ahead_ms = 0;  // of the broker's clock before this machine's
  std::vector<std::string> warnings = {};
};

// The broker does not offer what the daemon needs; the error has this field with the name of the
// fault.
inline constexpr std::string_view kNegotiationField = "negotiation";

const NegotiationRequest& needed_features();
Error negotiation_error(const NegotiationRefusal& refusal);

// Gets the features of one broker. unavailable: it cannot be reached or does not answer;
// unauthenticated or permission_denied: not with this token; invalid_argument with
// kNegotiationField: it must not be used.
Result<BrokerSession> negotiate(const BrokerSettings& settings, const std::string& url,
                                const std::stop_token& stop, TimeMs now);

struct Transmitted {
  Completion completion = {};
  std::int64_t pause_ms = 0;  // that the broker requires
  bool history_gone = false;  // a duplicate whose message was removed
};

// Sends a claimed row.
Transmitted transmit(const BrokerSession& session, const OutboxEntry& entry,
                     const std::stop_token& stop);

struct BrokerKnowledge {
  BrokerVerdict verdict = BrokerVerdict::unknown;
  std::string broker_message_id = {};
  std::string history_id = {};
};
// Whether the broker has accepted the row.
BrokerKnowledge query_broker(const BrokerSession& session, const OutboxEntry& entry,
                             TimeMs broker_now);

// Another request of the member. The body of a good response; the errors of the broker.
struct BrokerRequest {
  std::string_view method = "GET";
  std::string target = {};
  std::string body = {};  // of POST
};
Result<std::string> call_broker(const BrokerSession& session, const BrokerRequest& request);

}  // namespace holdfast::delivery

#include "apps/daemon/broker_link.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/client/client_problem.h"
#include "delivery/api/broker_requests.h"
#include "net/http.h"

namespace holdfast::delivery {

namespace {

constexpr std::chrono::milliseconds kAnswerTimeout{15'000};
constexpr std::int64_t kDateUnitMs = 1000;
constexpr std::int64_t kAgeUnitMs = 3'600'000;
constexpr std::int64_t kMostPauseMs = 3'600'000;
constexpr std::size_t kMostErrorBytes = 500;
constexpr int kOk = 200;
constexpr int kNotFound = 404;

using OutcomeKind = net::HttpOutcome::Kind;

std::string error_name(const net::HttpOutcome& outcome) {
  const auto json = Json::parse(outcome.body);
  return json.ok() ? std::string(json.value().text("error")) : std::string();
}

std::string described(const net::HttpOutcome& outcome) {
  const auto json = Json::parse(outcome.body);
  std::string text = fmt::format("the broker answered {}", outcome.status);
  if (json.ok()) {
    for (const std::string_view member : {"error", "title", "detail"}) {
      if (const std::string_view value = json.value().text(member); !value.empty()) {
        text += (member == "error" ? " " : ": ") + std::string(value);
      }
    }
  }
  return text.substr(0, kMostErrorBytes);
}

std::int64_t pause_of(const net::HttpOutcome& outcome) {
  const auto wait = client::retry_after(outcome);
  return wait.has_value() ? std::min<std::int64_t>(wait->count(), kMostPauseMs) : 0;
}

// The clock of the broker, to a second.
std::int64_t clock_ahead_ms(const net::HttpOutcome& outcome, TimeMs now) {
  const auto seconds = net::parse_http_date(outcome.header("date"));
  return seconds.has_value() ? *seconds * kDateUnitMs - now.value : 0;
}

std::string features_target() {
  std::string target = "/v1/features";
  for (const std::string& name : needed_features().require) {
    target += (target.find('?') == std::string::npos ? "?require=" : "&require=") + name;
  }
  return target;
}

Result<MessageRequest> request_of(const OutboxEntry& entry) {
  MessageRequest request;
  request.mesh = entry.mesh;
  request.client_message_id = entry.client_message_id;
  request.request_fingerprint = entry.request_fingerprint;
  request.envelope_version = entry.envelope_version;
  request.destination = entry.destination;
  request.priority = entry.priority;
  if (!entry.meta.empty()) {
    request.meta = Payload::trusted(entry.meta);
  }
  request.body = entry.payload;
  request.mentions = entry.mentions;
  request.reply_to_id = entry.reply_to_id;
  request.first_sent_at = entry.first_sent_at;
  request.attempt =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(entry.attempts + 1, UINT32_MAX));
  return request;
}

Transmitted without_answer(AnswerEffect effect, std::string why) {
  Transmitted sent;
  sent.completion.effect = effect;
  sent.completion.error = std::move(why);
  return sent;
}

Transmitted answered(const net::HttpOutcome& outcome) {
  Transmitted sent;
  Completion& completion = sent.completion;
  completion.http_status = outcome.status;
  completion.effect = classify_answer(outcome.status, error_name(outcome));
  sent.pause_ms = pause_of(outcome);
  if (completion.effect.row != RowOutcome::done) {
    completion.error = described(outcome);
    return sent;
  }
  const auto accepted = read_answer<AcceptResponse>(outcome.body);
  if (!accepted.ok()) {
    // Not the answer of a broker, whatever its status: it may have been behind it.
    return without_answer(classify_no_answer(), "the answer is not that of a broker");
  }
  completion.broker_message_id = accepted.value().broker_message_id;
  completion.history_id = accepted.value().history_id;
  sent.history_gone = accepted.value().duplicate && !accepted.value().history_available;
  return sent;
}

}  // namespace

const NegotiationRequest& needed_features() {
  static const NegotiationRequest request{
      {std::string(kDedupeFeature), std::string(kMaxPayloadFeature)}, {}};
  return request;
}

Error negotiation_error(const NegotiationRefusal& refusal) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("the broker must not be used: {}", refusal.close_reason())}
      .with(kNegotiationField, to_text(refusal.fault))
      .with("log", refusal.log);
}

Result<BrokerSession> negotiate(const BrokerSettings& settings, const std::string& url,
                                const std::stop_token& stop, TimeMs now) {
  net::HttpOptions options;
  options.token = settings.token;
  options.tls_ca_file = settings.tls_ca;
  options.user_agent = "holdfast-daemon";
  BrokerSession session;
  session.url = url;
  HOLDFAST_TRY(auto http, net::HttpClient::create(url, options));
  session.http = std::move(http);
  const std::string target = features_target();
  net::HttpCall call;
  call.target = target;
  call.repeatable = true;
  call.timeout = kAnswerTimeout;
  const net::HttpOutcome outcome = session.http->send(call, stop);
  if (outcome.kind != OutcomeKind::answered) {
    return client::error_without_response(outcome);
  }
  if (outcome.status != kOk) {
    return client::error_of_response(outcome);
  }
  const auto response = read_answer<NegotiationResponse>(outcome.body);
  if (!response.ok()) {
    return Error{ErrorCode::unavailable, url + " does not answer like a broker"};
  }
  const auto checked = check_negotiation(needed_features(), response.value());
  if (const auto* refusal = std::get_if<NegotiationRefusal>(&checked)) {
    return negotiation_error(*refusal);
  }
  const auto& features = std::get<NegotiatedFeatures>(checked);
  const auto hours = max_age_hours(features.dedupe->window, settings.max_age);
  if (!hours.ok()) {
    return Error(hours.error()).with(kNegotiationField, hours.error().field("error"));
  }
  session.max_age_ms = std::int64_t{hours.value()} * kAgeUnitMs;
  session.inline_bytes = features.max_payload->inline_bytes;
  session.ahead_ms = clock_ahead_ms(outcome, now);
  session.warnings = features.warnings;
  return session;
}

Transmitted transmit(const BrokerSession& session, const OutboxEntry& entry,
                     const std::stop_token& stop) {
  const auto request = request_of(entry);
  const auto body = to_json(request.value());
  HOLDFAST_ASSERT(body.ok());  // a row has everything that is required
  net::HttpCall call;
  call.method = "POST";
  call.target = "/v1/messages";
  call.body = body.value().view();
  call.content_type = "application/json";
  call.timeout = kAnswerTimeout;  // not repeatable: every transmission is counted
  const net::HttpOutcome outcome = session.http->send(call, stop);
  switch (outcome.kind) {
    case OutcomeKind::answered:
      return answered(outcome);
    case OutcomeKind::nothing_sent:
      return without_answer(classify_unsent(), std::string(outcome.cause));
    case OutcomeKind::maybe_done:
      return without_answer(classify_no_answer(), std::string(outcome.cause));
  }
  HOLDFAST_ASSERT(false);
  return {};
}

BrokerKnowledge query_broker(const BrokerSession& session, const OutboxEntry& entry,
                             TimeMs broker_now) {
  const std::string target = "/v1/dedupe/" + net::url_encoded(entry.client_message_id);
  net::HttpCall call;
  call.target = target;
  call.repeatable = true;
  call.timeout = kAnswerTimeout;
  const net::HttpOutcome outcome = session.http->send(call);
  if (outcome.kind != OutcomeKind::answered) {
    return {};
  }
  if (outcome.status == kOk) {
    const auto found = read_answer<DedupeResponse>(outcome.body);
    if (!found.ok()) {
      return {};
    }
    const bool same =
        found.value().broker_fingerprint_prefix == fingerprint_prefix(entry.request_fingerprint);
    return same ? BrokerKnowledge{BrokerVerdict::accepted, found.value().broker_message_id,
                                  found.value().history_id}
                : BrokerKnowledge{BrokerVerdict::absent, {}, {}};
  }
  // Outside its window the broker may have forgotten the message.
  const bool remembers = !entry.first_sent_at.has_value() ||
                         broker_now.value - entry.first_sent_at->value <= session.max_age_ms;
  return {outcome.status == kNotFound && remembers ? BrokerVerdict::absent : BrokerVerdict::unknown,
          {},
          {}};
}

Result<std::string> call_broker(const BrokerSession& session, const BrokerRequest& request) {
  net::HttpCall call;
  call.method = request.method;
  call.target = request.target;
  if (request.method == "POST") {
    call.body = request.body;
    call.content_type = "application/json";
  }
  call.repeatable = true;  // none of them does more when it is repeated
  call.timeout = kAnswerTimeout;
  net::HttpOutcome outcome = session.http->send(call);
  if (outcome.kind != OutcomeKind::answered) {
    return client::error_without_response(outcome);
  }
  constexpr int kFirstRefused = 300;
  if (outcome.status >= kFirstRefused) {
    return client::error_of_response(outcome);
  }
  return std::move(outcome.body);
}

}  // namespace holdfast::delivery

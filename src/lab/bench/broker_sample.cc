#include "lab/bench/broker_sample.h"

#include <fmt/format.h>

#include "delivery/broker/broker_directory.h"
#include "delivery/contract/envelope.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

using delivery::SqlSession;

delivery::Destination place_with(std::size_t fan_out) {
  return fan_out == 0
             ? delivery::Destination{delivery::DestinationKind::queue, std::string(kBenchQueue)}
             : delivery::Destination{delivery::DestinationKind::topic,
                                     fmt::format("fan-out-{}", fan_out)};
}

delivery::Envelope envelope_to(std::size_t fan_out) {
  return {.destination = place_with(fan_out),
          .reply_to = {},
          .meta = {},
          .body = BrokerSample::payload()};
}

delivery::Member member_of(const std::string& mesh_id, const std::string& id,
                           const std::string& name, std::string_view token) {
  return {id, mesh_id, to_hex(sha256("key of " + name)), name, sha256(token)};
}

}  // namespace

std::string BrokerSample::next_id() {
  std::array<std::byte, 10> entropy{};
  random_.fill(entropy);
  return ids_.next(clock_.now(), entropy).text();
}

Result<void> BrokerSample::populate(delivery::BrokerStore& store) {
  const TimeMs now = clock_.now();
  recipients_.clear();
  for (std::size_t i = 0; i < kFanOuts.back(); ++i) {
    recipients_.push_back(next_id());
  }
  return store.write([&](SqlSession& session) -> Result<void> {
    delivery::Workspace workspace;
    workspace.mesh_id = mesh_id_;
    workspace.slug = kBenchMesh;
    HOLDFAST_CHECK(create_workspace(session, workspace, now));
    HOLDFAST_CHECK(
        create_member(session, member_of(mesh_id_, sender_id_, "sender", kBenchToken), now));
    for (const std::string& id : recipients_) {
      HOLDFAST_CHECK(create_member(session, member_of(mesh_id_, id, "m-" + id, id), now));
    }
    HOLDFAST_CHECK(create_queue(session, mesh_id_, kBenchQueue, now));
    for (const std::size_t fan_out : kFanOuts) {
      const std::string topic = place_with(fan_out).ref;
      HOLDFAST_CHECK(create_topic(session, {mesh_id_, topic, {}, {}}, now));
      for (std::size_t i = 0; i < fan_out; ++i) {
        HOLDFAST_CHECK(subscribe(session, {mesh_id_, topic, recipients_[i], {}}, now));
      }
    }
    return {};
  });
}

delivery::AcceptRow BrokerSample::row(std::size_t fan_out) {
  auto id = delivery::ClientMessageId::parse(fmt::format("{}-{}", sender_id_, ++messages_));
  HOLDFAST_ASSERT(id.ok());
  delivery::Message message{.id = std::move(id).value(),
                            .envelope = envelope_to(fan_out),
                            .mentions = {},
                            .first_sent_at = {}};
  message.fingerprint = fingerprint_of(message.envelope);
  delivery::AcceptKnowledge passed;
  passed.caller = delivery::CallerState::member;
  passed.request.emplace();
  passed.known = delivery::KnownState::absent;
  passed.size = delivery::SizeState::fits;
  passed.age = delivery::AgeState::fresh;
  passed.budget = delivery::BudgetState::admitted;
  const TimeMs now = clock_.now();
  return {.mesh_id = mesh_id_,
          .sender_member_id = sender_id_,
          .broker_message_id = next_id(),
          .history_id = next_id(),
          .now = now,
          .expires_at = TimeMs{now.value + delivery::kDayMs * 365},
          .message = std::move(message),
          .knowledge = passed};
}

std::vector<delivery::AcceptRow> BrokerSample::group(std::size_t messages, std::size_t fan_out) {
  std::vector<delivery::AcceptRow> rows;
  rows.reserve(messages);
  for (std::size_t i = 0; i < messages; ++i) {
    rows.push_back(row(fan_out));
  }
  return rows;
}

BrokerSample::Request BrokerSample::request(std::size_t fan_out) {
  return {fmt::format(R"({{"mesh":"{}","client_message_id":"m-)", kBenchMesh),
          fmt::format(R"(","request_fingerprint":"{}","envelope_version":1,)"
                      R"("destination":{{"kind":"topic","ref":"{}"}},"body":"{}"}})",
                      to_hex(fingerprint_of(envelope_to(fan_out))), place_with(fan_out).ref,
                      payload())};
}

std::string BrokerSample::sender_key() { return to_hex(sha256("key of sender")); }

std::string BrokerSample::payload() { return std::string(kMessageBytes, 'x'); }

}  // namespace holdfast

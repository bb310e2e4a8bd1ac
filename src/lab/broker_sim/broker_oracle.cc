#include "lab/broker_sim/broker_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace holdfast::broker_sim {

namespace {

constexpr std::uint64_t kFreeRetries = 10;
constexpr std::size_t kPrefix = 16;

int status_of(const std::string& error) {
  static const std::map<std::string, int> kStatus{{"invalid_request", 400},
                                                  {"invalid_idempotency_key", 400},
                                                  {"unauthenticated", 401},
                                                  {"not_a_member", 403},
                                                  {"member_revoked", 403},
                                                  {"not_allowed", 403},
                                                  {"unknown_workspace", 404},
                                                  {"unknown_destination", 404},
                                                  {"idempotency_key_reused", 409},
                                                  {"destination_closed", 410},
                                                  {"stale_retry", 410},
                                                  {"too_large", 413},
                                                  {"canonical_form_drift", 422},
                                                  {"unsupported_version", 426},
                                                  {"rate_limited", 429},
                                                  {"limiter_unavailable", 503}};
  return kStatus.at(error);
}

std::string lower(std::string text) {
  for (char& letter : text) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

std::string shown(const OracleAnswer& answer) {
  return fmt::format("{} {} {} {} prefix \"{}\" first seen {} available {} fanout {}",
                     answer.status, answer.error, answer.broker_message_id, answer.history_id,
                     answer.prefix, answer.first_seen_at, answer.available, answer.fanout);
}

}  // namespace

void BrokerOracle::fail(const std::string& what) {
  if (!broken_.has_value()) {
    broken_ = what;
  }
}

// The directory

void BrokerOracle::add_workspace(const std::string& name, const OracleWorkspace& workspace) {
  workspaces_[name] = workspace;
}

void BrokerOracle::set_inline_bytes(const std::string& workspace, std::uint64_t bytes) {
  workspaces_.at(workspace).inline_bytes = bytes;
}

void BrokerOracle::add_member(const std::string& token, const OracleMember& member) {
  members_[token] = member;
  histories_.try_emplace({member.mesh_id, "dm", member.pubkey});
}

void BrokerOracle::revoke(const std::string& member_id) {
  for (auto& [token, member] : members_) {
    member.revoked = member.revoked || member.member_id == member_id;
  }
  for (auto& [name, topic] : topics_) {
    topic.subscriptions.erase(member_id);
  }
}

void BrokerOracle::add_topic(const std::string& mesh_id, const std::string& name,
                             const OracleTopic& topic) {
  topics_[{mesh_id, name}] = topic;
  histories_.try_emplace({mesh_id, "topic", name});
}

void BrokerOracle::archive(const std::string& mesh_id, const std::string& topic) {
  topics_.at({mesh_id, topic}).archived = true;
}

bool BrokerOracle::subscribe(const std::string& mesh_id, const std::string& topic,
                             const std::string& member_id, const std::string& role) {
  const auto found = topics_.find({mesh_id, topic});
  const bool live = std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
    return member.second.member_id == member_id && !member.second.revoked;
  });
  if (found == topics_.end() || found->second.archived || !live) {
    return false;
  }
  found->second.subscriptions[member_id] = role;
  return true;
}

void BrokerOracle::unsubscribe(const std::string& mesh_id, const std::string& topic,
                               const std::string& member_id) {
  topics_.at({mesh_id, topic}).subscriptions.erase(member_id);
}

void BrokerOracle::add_queue(const std::string& mesh_id, const std::string& name,
                             const OracleQueue& queue) {
  queues_[{mesh_id, name}] = queue;
  histories_.try_emplace({mesh_id, "queue", name});
}

void BrokerOracle::deliver(const std::string& member_id) {
  for (auto& [key, delivery] : deliveries_) {
    delivery.ended = delivery.ended || key.second == member_id;
  }
}

// The steps of a request

void BrokerOracle::refuse(OracleRequest& request, int status, const std::string& error) {
  request.next = OracleRequest::Next::answer;
  request.answer = {.status = status, .error = error};
}

void BrokerOracle::repeat(OracleRequest& request, const Dedupe& row) {
  request.next = OracleRequest::Next::answer;
  if (row.fingerprint != fingerprint_hex(*request.message)) {
    request.answer = {.status = 409,
                      .error = "idempotency_key_reused",
                      .prefix = row.fingerprint.substr(0, kPrefix)};
    return;
  }
  request.answer = {.status = 200,
                    .broker_message_id = row.broker_message_id,
                    .history_id = row.history_id,
                    .first_seen_at = row.first_seen_at,
                    .available = row.pruned_at == 0};
}

const OracleMember* BrokerOracle::sender_of(const OracleRequest& request) const {
  const auto found = members_.find(request.message->token);
  return found == members_.end() ? nullptr : &found->second;
}

const OracleWorkspace* BrokerOracle::workspace_of(const std::string& mesh_id) const {
  for (const auto& [name, workspace] : workspaces_) {
    if (workspace.mesh_id == mesh_id) {
      return &workspace;
    }
  }
  return nullptr;
}

std::string BrokerOracle::key_of(const OracleRequest& request) const {
  const OracleMember* sender = sender_of(request);
  return dedupe_key(sender->mesh_id, sender->member_id, request.message->id);
}

std::string BrokerOracle::marker_of(const OracleRequest& request) const {
  return key_of(request) + "/" + fingerprint_hex(*request.message);
}

std::string BrokerOracle::refusal_of_caller(const SimMessage& message) const {
  const auto member = members_.find(message.token);
  if (member == members_.end()) {
    return "unauthenticated";
  }
  const auto workspace = workspaces_.find(message.workspace);
  if (workspace == workspaces_.end()) {
    return "unknown_workspace";
  }
  if (workspace->second.mesh_id != member->second.mesh_id) {
    return "not_a_member";
  }
  return member->second.revoked ? "member_revoked" : "";
}

std::string BrokerOracle::refusal_of_content(const SimMessage& message) {
  switch (message.defect) {
    case Defect::none:
    case Defect::not_json:
    case Defect::unknown_member:
    case Defect::envelope_version:
      return "";
    case Defect::bad_id:
      return "invalid_idempotency_key";
    case Defect::bad_ref:
    case Defect::many_mentions:
      return "invalid_request";
    case Defect::drift:
      return "canonical_form_drift";
  }
  return "";
}

// A message without a row that was first sent before any outbox would still send it may be one
// whose row was swept: the window less a day.
bool BrokerOracle::is_stale(const OracleWorkspace& workspace, const OracleRequest& request) const {
  const std::int64_t first = request.message->first_sent_at;
  return first > 0 && workspace.dedupe_days > 0 &&
         first < request.now - (workspace.dedupe_days - 1) * kOracleDayMs;
}

void BrokerOracle::begin(OracleRequest& request) {
  const SimMessage& message = *request.message;
  if (message.defect == Defect::not_json || message.defect == Defect::unknown_member) {
    return refuse(request, 400, "invalid_request");
  }
  if (message.defect == Defect::envelope_version) {
    return refuse(request, 426, "unsupported_version");
  }
  std::string refusal = refusal_of_caller(message);
  refusal = refusal.empty() ? refusal_of_content(message) : refusal;
  if (!refusal.empty()) {
    return refuse(request, status_of(refusal), refusal);
  }
  if (const auto row = dedupe_.find(key_of(request)); row != dedupe_.end()) {
    return repeat(request, row->second);
  }
  const OracleWorkspace& workspace = workspaces_.at(message.workspace);
  if (message.body.size() > workspace.inline_bytes) {
    return refuse(request, 413, "too_large");
  }
  if (is_stale(workspace, request)) {
    return refuse(request, 410, "stale_retry");
  }
  request.next =
      workspace.limit > 0 ? OracleRequest::Next::budget : OracleRequest::Next::transaction;
}

// Windows are fixed; a clock that is set back stays in the newest window. The same message costs
// one unit in a window and the next one, unless it was refused in the transaction too often.
OracleBudget BrokerOracle::consume(const OracleWorkspace& workspace, const OracleRequest& request) {
  const std::int64_t window = request.now / workspace.window_ms;
  Counter counter =
      counters_.contains(workspace.mesh_id) ? counters_.at(workspace.mesh_id) : Counter{window, 0};
  if (counter.window < window) {
    counter = {window, 0};
  }
  const auto marker = markers_.find(marker_of(request));
  const bool marked = marker != markers_.end() && marker->second.until >= counter.window;
  if (marked && marker->second.refused <= kFreeRetries) {
    return OracleBudget::admitted;
  }
  if (counter.count >= workspace.limit) {
    return OracleBudget::denied;
  }
  ++counter.count;
  counters_[workspace.mesh_id] = counter;
  if (!marked) {
    markers_[marker_of(request)] = {counter.window + 1, 0};
  }
  return OracleBudget::admitted;
}

void BrokerOracle::budget(OracleRequest& request, OracleBudget given) {
  if (request.next != OracleRequest::Next::budget) {
    return fail(fmt::format("the limiter was consulted for a message that does not need it: {}",
                            request.message->id));
  }
  request.charged = true;
  if (given == OracleBudget::unavailable) {
    return refuse(request, 503, "limiter_unavailable");
  }
  const OracleBudget expected = consume(*workspace_of(sender_of(request)->mesh_id), request);
  if (given != expected) {
    return fail(fmt::format("the limiter has {} a message that it must have {}: {}",
                            given == OracleBudget::admitted ? "admitted" : "denied",
                            expected == OracleBudget::admitted ? "admitted" : "denied",
                            request.message->id));
  }
  if (given == OracleBudget::denied) {
    return refuse(request, 429, "rate_limited");
  }
  request.next = OracleRequest::Next::transaction;
}

std::string BrokerOracle::refusal_of_destination(const OracleMember& sender,
                                                 const SimMessage& message) const {
  if (message.kind == "topic") {
    const auto topic = topics_.find({sender.mesh_id, message.ref});
    if (topic == topics_.end()) {
      return "unknown_destination";
    }
    if (topic->second.archived) {
      return "destination_closed";
    }
    const auto role = topic->second.subscriptions.find(sender.member_id);
    const bool subscribed = role != topic->second.subscriptions.end();
    const bool allowed = subscribed ? role->second == "writer" : !topic->second.closed;
    return allowed ? "" : "not_allowed";
  }
  if (message.kind == "queue") {
    return queues_.contains({sender.mesh_id, message.ref}) ? "" : "unknown_destination";
  }
  for (const auto& [token, member] : members_) {
    if (member.mesh_id == sender.mesh_id && member.pubkey == message.ref) {
      return member.revoked ? "destination_closed" : "";
    }
  }
  return "unknown_destination";
}

void BrokerOracle::transact(OracleRequest& request, const std::string& broker_message_id,
                            const std::string& history_id) {
  if (request.next != OracleRequest::Next::transaction) {
    return fail("a message was in a transaction before its checks: " + request.message->id);
  }
  if (const auto row = dedupe_.find(key_of(request)); row != dedupe_.end()) {
    ++met_in_transaction_;
    return repeat(request, row->second);
  }
  const OracleMember& sender = *sender_of(request);
  const std::string refusal = refusal_of_destination(sender, *request.message);
  if (!refusal.empty()) {
    request.b2_refused = true;
    return refuse(request, status_of(refusal), refusal);
  }
  accept(request, sender, broker_message_id, history_id);
}

std::set<std::string> BrokerOracle::recipients(const OracleMember& sender,
                                               const SimMessage& message) const {
  std::set<std::string> found;
  if (message.kind == "topic") {
    const OracleTopic& topic = topics_.at({sender.mesh_id, message.ref});
    for (const auto& [member_id, role] : topic.subscriptions) {
      if (!topic.sender_excluded || member_id != sender.member_id) {
        found.insert(member_id);
      }
    }
  } else if (message.kind == "dm") {
    for (const auto& [token, member] : members_) {
      if (member.mesh_id == sender.mesh_id && member.pubkey == message.ref) {
        found.insert(member.member_id);
      }
    }
  }
  return found;
}

// By name in either case, or by public key; unknown names are dropped, and so is the sender.
std::set<std::string> BrokerOracle::mentioned(const OracleMember& sender,
                                              const SimMessage& message) const {
  std::set<std::string> found;
  for (const std::string& mention : message.mentions) {
    for (const auto& [token, member] : members_) {
      const bool named = member.pubkey == mention || lower(member.name) == lower(mention);
      if (named && member.mesh_id == sender.mesh_id && !member.revoked &&
          member.member_id != sender.member_id) {
        found.insert(member.pubkey);
      }
    }
  }
  return found;
}

void BrokerOracle::accept(OracleRequest& request, const OracleMember& sender, const std::string& id,
                          const std::string& history_id) {
  const SimMessage& message = *request.message;
  const OracleWorkspace& workspace = workspaces_.at(message.workspace);
  if (messages_.contains(id)) {
    return fail("two messages have the id " + id);
  }
  const std::string key = key_of(request);
  accepted_again_ += swept_keys_.contains(key) ? 1U : 0U;
  dedupe_[key] = {.mesh_id = sender.mesh_id,
                  .sender = sender.member_id,
                  .id = message.id,
                  .broker_message_id = id,
                  .history_id = history_id,
                  .fingerprint = fingerprint_hex(message),
                  .kind = message.kind,
                  .ref = message.ref,
                  .first_seen_at = request.now,
                  .expires_at = workspace.dedupe_days == 0
                                    ? 0
                                    : request.now + workspace.dedupe_days * kOracleDayMs};
  const Place place{sender.mesh_id, message.kind, message.ref};
  auto& history = histories_[place];
  history.push_back({history_id, id, request.now, 0});
  const std::set<std::string> to = recipients(sender, message);
  for (const std::string& recipient : to) {
    deliveries_[{id, recipient}] = {sender.mesh_id, history.size(),
                                    message.priority.empty() ? "next" : message.priority,
                                    request.now, false};
  }
  for (const std::string& pubkey : mentioned(sender, message)) {
    mentions_.insert({id, pubkey});
  }
  messages_[id] = {place, sender.member_id, message, request.now, to.size(), history.size()};
  if (message.kind == "queue") {
    add_item(id, sender, message, history.size(), request.now);
  }
  request.next = OracleRequest::Next::answer;
  request.answer = {.status = 201,
                    .broker_message_id = id,
                    .history_id = history_id,
                    .first_seen_at = request.now,
                    .fanout = to.size()};
}

void BrokerOracle::note_refused(OracleRequest& request) {
  if (!request.b2_refused) {
    return fail("the limiter counts a refusal that was none: " + request.message->id);
  }
  request.refusal_noted = true;
  const auto marker = markers_.find(marker_of(request));
  const std::int64_t window = request.now / workspace_of(sender_of(request)->mesh_id)->window_ms;
  if (marker != markers_.end() && marker->second.until >= window) {
    ++marker->second.refused;
  }
}

void BrokerOracle::check_answer(const OracleRequest& request, const OracleAnswer& given) {
  const std::string about = "the answer to " + request.message->id;
  if (request.failed) {
    if (given.status < 500) {
      fail(about + " is not a failure: " + shown(given));
    }
    return;
  }
  if (request.next != OracleRequest::Next::answer) {
    return fail(about + " was given before its checks: " + shown(given));
  }
  const OracleAnswer& wanted = request.answer;
  if (shown(given) != shown(wanted)) {
    return fail(about + " is wrong: it is " + shown(given) + ", and must be " + shown(wanted));
  }
  if (request.b2_refused && request.charged && !request.refusal_noted) {
    fail(about + " is a refusal that the limiter does not count");
  }
}

}  // namespace holdfast::broker_sim

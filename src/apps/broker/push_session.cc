#include "apps/broker/push_session.h"

#include <algorithm>
#include <utility>

#include "apps/broker/broker_call.h"
#include "apps/broker/push_hello.h"
#include "apps/broker/push_hub.h"
#include "delivery/api/broker_views.h"
#include "delivery/contract/hello.h"
#include "holdfast/assert.h"
#include "net/ws_frames.h"
#include "runs/api/strict_reader.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kUsualWindow = 256;
constexpr std::uint32_t kMostPerPush = 100;
constexpr std::uint64_t kPushBytes = 256U << 10U;   // of the bodies of one push
constexpr std::size_t kMostUnsent = 256U << 10U;    // then it waits until everything was sent
constexpr std::size_t kMostFrames = 1000;           // that wait to be worked on
constexpr std::size_t kMostFrameBytes = 1U << 20U;  // likewise
constexpr std::uint32_t kPageEntries = 200;
constexpr std::size_t kPageBytes = 256U << 10U;  // of bodies

Error invalid_frame(std::string_view detail) {
  return rejected(Rejection::invalid_request, detail);
}

Result<MemberFrame> type_of(std::string_view object) {
  JsonSlicer members(object);
  while (const auto member = members.next()) {
    if (member->name == "type") {
      const auto type = json_string_value(member->value);
      const auto known = type.has_value() ? enum_from<MemberFrame>(*type) : std::nullopt;
      return known.has_value() ? Result<MemberFrame>(*known)
                               : Result<MemberFrame>(invalid_frame("unknown type of frame"));
    }
  }
  return invalid_frame("a frame is a JSON object with a member \"type\"");
}

std::string name_of(const Error& error) {
  const auto rejection = rejection_of(error);
  return std::string(rejection.has_value() ? rejection_info(*rejection).name
                                           : error_info(error.code()).name);
}

bool is_for_later(const Error& error) {
  constexpr int kFirstFailure = 500;
  return rejection_of(error).has_value()
             ? rejection_info(*rejection_of(error)).http_status >= kFirstFailure
             : error_info(error.code()).http_status >= kFirstFailure;
}

// Of a hello.
std::uint16_t refusal_code(const Error& error) {
  const auto rejection = rejection_of(error);
  if (rejection == Rejection::unauthenticated || rejection == Rejection::not_a_member) {
    return push_close::kUnauthenticated;
  }
  if (rejection == Rejection::member_revoked) {
    return push_close::kRevoked;
  }
  return is_for_later(error) ? net::ws_code::kTryAgainLater : net::ws_code::kPolicy;
}

}  // namespace

template <HasFields T>
void PushSession::send_frame(const T& frame) {
  const auto json = to_json(frame);
  HOLDFAST_ASSERT(json.ok());
  socket_->send(json.value().view());
}

void PushSession::begin(std::shared_ptr<net::WebSocket> socket) {
  socket_ = std::move(socket);
  ChallengeFrame challenge;
  challenge.nonce = nonce_;
  challenge.now = hub_.service().clock.now();
  send_frame(challenge);
}

void PushSession::on_text(std::string text) {
  bool fits = false;
  {
    const std::lock_guard lock(mutex_);
    frame_bytes_ += text.size();
    frames_.push_back(std::move(text));
    fits = frames_.size() <= kMostFrames && frame_bytes_ <= kMostFrameBytes;
    if (!fits) {
      frames_ = {};
    }
  }
  if (fits) {
    schedule();
  } else {
    end(net::ws_code::kPolicy, "too many frames wait");
  }
}

void PushSession::on_drained() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(wants_drain_, false)) {
      return;
    }
  }
  schedule();
}

void PushSession::on_closed(std::uint16_t code) {
  ended_ = true;
  if (code == net::ws_code::kTryAgainLater) {
    ++hub_.counters().slow;
  }
  hub_.left(shared_from_this(), code);
  schedule();
}

void PushSession::end(std::uint16_t code, std::string_view reason) {
  ended_ = true;
  socket_->close(code, reason);
  schedule();
}

void PushSession::wake() {
  {
    const std::lock_guard lock(mutex_);
    more_ = true;
  }
  schedule();
}

void PushSession::schedule() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(scheduled_, true)) {
      return;
    }
  }
  hub_.run(shared_from_this());
}

std::vector<std::string> PushSession::take_frames() {
  const std::lock_guard lock(mutex_);
  frame_bytes_ = 0;
  return std::exchange(frames_, {});
}

void PushSession::work() {
  for (const std::string& frame : take_frames()) {
    if (ended()) {
      break;
    }
    handle(frame);
  }
  acknowledge();
  if (phase_ == Phase::open && !ended()) {
    send_history();
    push();
  }
  if (ended()) {
    release();
  }
  finish_work();
}

// What comes while it works is worked on behind the sessions that wait already.
void PushSession::finish_work() {
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    const bool can_send = phase_ == Phase::open && !wants_drain_ && !ended();
    const bool can_push = more_ && outstanding_.size() < window_;
    again = !frames_.empty() || (can_send && (can_push || !resume_.empty())) ||
            (ended() && phase_ != Phase::greeting && !released_);
    scheduled_ = again;
  }
  if (again) {
    hub_.run(shared_from_this());
  }
}

void PushSession::handle(const std::string& text) {
  std::string_view type_name;
  const auto run = [&]() -> Result<void> {
    HOLDFAST_TRY(const JsonText json, JsonText::parse(text));
    HOLDFAST_TRY(const MemberFrame type, type_of(json.view()));
    type_name = to_text(type);
    if (type != MemberFrame::client_ack) {
      acknowledge();
    }
    return handle(type, json.view());
  };
  if (const auto done = run(); !done.ok()) {
    refuse(done.error(), type_name);
  }
}

Result<void> PushSession::handle(MemberFrame type, std::string_view object) {
  const Phase wanted = type == MemberFrame::hello                         ? Phase::greeting
                       : type == MemberFrame::feature_negotiation_request ? Phase::negotiating
                                                                          : Phase::open;
  if (phase_ != wanted) {
    return invalid_frame("first hello, then feature_negotiation_request, then anything else");
  }
  switch (type) {
    case MemberFrame::hello:
      return greet(object);
    case MemberFrame::feature_negotiation_request:
      return negotiate(object);
    case MemberFrame::client_ack:
      return take_acks(object);
    case MemberFrame::resume:
      return take_cursor(object);
  }
  return {};
}

// A frame that is not valid ends the connection; what may succeed later does not.
void PushSession::refuse(const Error& error, std::string_view frame) {
  ErrorFrame shown;
  shown.error = name_of(error);
  shown.detail = is_for_later(error) ? "the broker cannot do this now" : error.message();
  shown.frame = frame;
  send_frame(shown);
  if (phase_ == Phase::greeting) {
    ++hub_.counters().refused;
    end(refusal_code(error), shown.error);
  } else if (!is_for_later(error)) {
    end(net::ws_code::kPolicy, shown.error);
  }
}

Result<void> PushSession::greet(std::string_view object) {
  HOLDFAST_TRY(const HelloFrame hello, read_object<HelloFrame>(object));
  if (hello.window == 0 || hello.window.value_or(1) > kMostWindow) {
    return invalid_frame("window is 1 to 1000");
  }
  HOLDFAST_TRY(GreetedMember greeted, authenticate_hello(hub_.service(), hello, nonce_));
  caller_ = std::move(greeted.caller);
  presence_ = hello.presence;
  window_ = static_cast<std::uint32_t>(hello.window.value_or(kUsualWindow));
  lease_ = hub_.service().deliveries->new_owner();
  nonce_ = std::string();
  const PresentMember member{caller_.workspace.mesh_id, caller_.member_id, caller_.pubkey,
                             greeted.name};
  HelloAckFrame ack;
  ack.mesh = caller_.workspace.slug;
  ack.pubkey = caller_.pubkey;
  ack.name = greeted.name;
  ack.lease = lease_;
  ack.lease_ms = static_cast<std::uint64_t>(hub_.service().deliveries->rules().lease_ms);
  ack.presence_lease_ms = static_cast<std::uint64_t>(hub_.options().presence_lease_ms);
  ack.window = window_;
  if (!hub_.join(shared_from_this(), member)) {
    ++hub_.counters().refused;
    end(push_close::kAlreadyConnected, "member_already_connected");
    return {};
  }
  phase_ = Phase::negotiating;
  send_frame(ack);
  return {};
}

Result<void> PushSession::negotiate(std::string_view object) {
  HOLDFAST_TRY(const NegotiationFrame request, read_object<NegotiationFrame>(object));
  const NegotiationResponse response =
      features_of(hub_.service(), caller_.workspace, request.require);
  NegotiationResponseFrame frame;
  frame.supported = response.supported;
  frame.missing_required = response.missing_required;
  send_frame(frame);
  if (!response.missing_required.empty()) {
    hub_.log().write(LogLevel::warning, "a member requires features that this broker has not",
                     {{"mesh", caller_.workspace.slug},
                      {"member", caller_.member_id},
                      {"feature", response.missing_required.front()},
                      {"request", std::string(object)}});
    end(static_cast<std::uint16_t>(NegotiationRefusal{}.close_code()), "feature_unavailable");
    return {};
  }
  phase_ = Phase::open;
  const std::lock_guard lock(mutex_);
  more_ = true;
  return {};
}

Result<void> PushSession::take_acks(std::string_view object) {
  HOLDFAST_TRY(const ClientAckFrame ack, read_object<ClientAckFrame>(object));
  HOLDFAST_CHECK(check_delivery_ids(ack.delivery_ids));
  acks_.insert(acks_.end(), ack.delivery_ids.begin(), ack.delivery_ids.end());
  if (acks_.size() >= kMostEntries) {
    acknowledge();
  }
  return {};
}

// Frames that wait together share one transaction.
void PushSession::acknowledge() {
  if (acks_.empty()) {
    return;
  }
  const std::vector<std::uint64_t> ids = std::exchange(acks_, {});
  const auto outcome = hub_.service().deliveries->acknowledge({caller_.member_id, lease_, ids});
  if (!outcome.ok()) {
    refuse(outcome.error(), to_text(MemberFrame::client_ack));
    return;
  }
  static_cast<void>(hub_.service().store.reach(FaultPoint::deliveries_acked));
  for (const std::uint64_t id : ids) {
    outstanding_.erase(id);
  }
  send_frame(AckFrame{.acked = outcome.value().acked, .fenced = outcome.value().fenced});
  if (!outcome.value().acked.empty()) {
    hub_.lanes_freed(*this);
  }
}

bool PushSession::may_send() {
  const std::lock_guard lock(mutex_);
  // First, so that a drain that comes now is not missed.
  wants_drain_ = true;
  if (socket_->buffered() > kMostUnsent) {
    return false;
  }
  wants_drain_ = false;
  return true;
}

void PushSession::push() {
  const TimeMs now = hub_.service().clock.now();
  std::erase_if(outstanding_, [&](const auto& one) { return one.second <= now; });
  if (outstanding_.size() >= window_ || !may_send()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(more_, false)) {
      return;
    }
  }
  const auto free = window_ - static_cast<std::uint32_t>(outstanding_.size());
  const std::uint32_t limit = std::min(free, kMostPerPush);
  const auto claimed = hub_.service().deliveries->claim(
      {.member_id = caller_.member_id, .limit = limit, .owner = lease_, .most_bytes = kPushBytes});
  if (!claimed.ok()) {
    hub_.retry(shared_from_this());
    return;
  }
  const auto& deliveries = claimed.value().deliveries;
  if (deliveries.empty()) {
    return;
  }
  std::size_t bytes = 0;
  for (const Delivery& delivery : deliveries) {
    bytes += delivery.envelope.body.size();
  }
  static_cast<void>(hub_.service().store.reach(FaultPoint::deliveries_claimed));
  send_deliveries(claimed.value());
  static_cast<void>(hub_.service().store.reach(FaultPoint::deliveries_pushed));
  if (deliveries.size() == limit || bytes >= kPushBytes) {
    const std::lock_guard lock(mutex_);
    more_ = true;
  }
}

void PushSession::send_deliveries(const ClaimedDeliveries& claimed) {
  PushFrame frame;
  frame.lease = claimed.owner;
  frame.lease_until = claimed.lease_until;
  for (const Delivery& delivery : claimed.deliveries) {
    outstanding_[delivery.delivery_id] = claimed.lease_until;
    frame.deliveries.push_back(view_of(delivery, caller_.workspace));
  }
  hub_.counters().pushed += frame.deliveries.size();
  send_frame(frame);
}

Result<void> PushSession::take_cursor(std::string_view object) {
  HOLDFAST_TRY(const ResumeFrame resume, read_object<ResumeFrame>(object));
  if (resume.cursor.empty() || resume.cursor.size() + resume_.size() > kMostEntries) {
    return invalid_frame("a cursor has 1 to 1000 destinations");
  }
  for (const CursorEntry& entry : resume.cursor) {
    HOLDFAST_CHECK(check_destination(entry.destination));
    if (entry.after > kLastSequence) {
      return invalid_frame("the sequence is too large");
    }
  }
  resume_.insert(resume_.end(), resume.cursor.begin(), resume.cursor.end());
  return {};
}

// One page at a time, between the pushes.
void PushSession::send_history() {
  if (resume_.empty() || !may_send()) {
    return;
  }
  CursorEntry& cursor = resume_.front();
  std::vector<HistoryEntry> entries;
  std::optional<Rejection> refused;
  const auto read = hub_.service().store.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(refused, check_readable(session, caller_, cursor.destination));
    if (!refused.has_value()) {
      HOLDFAST_TRY(entries, read_history(session, caller_.workspace.mesh_id, cursor.destination,
                                         cursor.after, kPageEntries));
    }
    return {};
  });
  if (!read.ok() || refused.has_value()) {
    ErrorFrame error;
    error.error = read.ok() ? std::string(rejection_info(*refused).name) : name_of(read.error());
    error.detail = read.ok() ? std::string(rejection_info(*refused).line)
                             : std::string("the broker cannot read the history now");
    error.frame = to_text(MemberFrame::resume);
    error.destination = cursor.destination;
    send_frame(error);
    resume_.erase(resume_.begin());
    return;
  }
  if (entries.empty()) {
    send_frame(ResumedFrame{.cursor = cursor});
    resume_.erase(resume_.begin());
    return;
  }
  send_page(cursor, entries);
}

// Ranges that were pruned are announced in their place.
void PushSession::send_page(CursorEntry& cursor, const std::vector<HistoryEntry>& entries) {
  HistoryFrame frame;
  frame.destination = cursor.destination;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < entries.size() && bytes < kPageBytes; ++i) {
    const HistoryEntry& entry = entries[i];
    if (!entry.pruned) {
      bytes += entry.body.size();
      frame.messages.push_back(view_of(entry, caller_.workspace.body_form));
      cursor.after = entry.history_seq;
      continue;
    }
    if (!frame.messages.empty()) {
      send_frame(frame);
      frame.messages.clear();
    }
    std::size_t last = i;
    while (last + 1 < entries.size() && entries[last + 1].pruned) {
      ++last;
    }
    send_frame(HistoryGapFrame{.destination = cursor.destination,
                               .from = entry.history_seq,
                               .to = entries[last].history_seq});
    cursor.after = entries[last].history_seq;
    i = last;
  }
  if (!frame.messages.empty()) {
    send_frame(frame);
  }
}

// Nothing is claimed after it: one thread at a time works.
void PushSession::release() {
  if (phase_ == Phase::greeting || std::exchange(released_, true)) {
    return;
  }
  static_cast<void>(hub_.service().deliveries->release(caller_.member_id, lease_));
  hub_.lanes_freed(*this);
}

}  // namespace holdfast::delivery

#include "apps/daemon/daemon_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/daemon/inbox_view.h"
#include "base/encoding.h"
#include "base/text.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kKeptOthers = 1000;
constexpr std::uint64_t kMessagesPerPiece = 50;
constexpr std::size_t kMostTagBytes = 32;

std::string new_run(Random& random) {
  std::array<std::byte, 8> bytes{};
  random.fill(bytes);
  return to_hex(bytes);
}

std::string event_text(const EventPosition& behind, std::string_view event, std::string_view data) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", behind.text(), event, data);
}

// TAG.NUMBER
bool read_part(std::string_view text, std::string& tag, std::uint64_t& number) {
  const std::size_t dot = text.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot > kMostTagBytes) {
    return false;
  }
  tag = text.substr(0, dot);
  const auto parsed = parse_decimal(text.substr(dot + 1));
  number = parsed.value_or(0);
  return parsed.has_value();
}

}  // namespace

std::optional<EventPosition> EventPosition::parse(std::string_view text) {
  EventPosition position;
  if (const auto number = parse_decimal(text); number.has_value()) {
    position.message = *number;
    return position;
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos ||
      !read_part(text.substr(0, dash), position.epoch, position.message) ||
      !read_part(text.substr(dash + 1), position.run, position.other)) {
    return std::nullopt;
  }
  return position;
}

std::string EventPosition::text() const {
  return fmt::format("{}.{}-{}.{}", epoch, message, run, other);
}

DaemonEvents::DaemonEvents(Inbox& inbox, Random& random, ServerLog& log)
    : inbox_(inbox), run_(new_run(random)), pump_(log) {}

void DaemonEvents::happened(std::string_view event, std::string data) {
  {
    const std::lock_guard lock(mutex_);
    others_.push_back({++numbered_, std::string(event), std::move(data)});
    if (others_.size() > kKeptOthers) {
      others_.pop_front();
    }
  }
  pump_.changed();
}

std::uint64_t DaemonEvents::last_other() {
  const std::lock_guard lock(mutex_);
  return numbered_;
}

Result<void> DaemonEvents::listen(const std::optional<EventPosition>& after,
                                  const OpenStream& open) {
  const auto listener = std::make_shared<Listener>();
  listener->at = {inbox_.epoch(), 0, run_, last_other()};
  if (!after.has_value()) {
    HOLDFAST_TRY(listener->at.message, inbox_.last_id());
  } else if (after->epoch.empty() || after->epoch == inbox_.epoch()) {
    listener->at.message = after->message;  // in another inbox everything is new
  }
  if (after.has_value() && !after->epoch.empty()) {
    const bool same_run = after->run == run_ && after->other <= listener->at.other;
    listener->resync = !same_run || after->epoch != inbox_.epoch();
    if (same_run) {
      listener->at.other = after->other;
    }
  }
  if (listeners_.fetch_add(1) >= kMostStreams) {
    --listeners_;
    return Error{ErrorCode::rate_limited, "too many streams of events at the same time"}
        .with("error", "too_many_streams")
        .with("retry_after_s", std::uint64_t{1});
  }
  pump_.add(
      open(), [this, listener] { return next_piece(*listener); }, [this] { --listeners_; });
  return {};
}

void DaemonEvents::add_others(Listener& listener, std::string& text) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest = others_.empty() ? numbered_ + 1 : others_.front().number;
  if (listener.resync || listener.at.other + 1 < oldest) {
    listener.resync = false;
    listener.at.other = std::max(listener.at.other, oldest - 1);
    text += event_text(listener.at, "resync", "{}");
  }
  for (const Other& other : others_) {
    if (other.number > listener.at.other) {
      listener.at.other = other.number;
      text += event_text(listener.at, other.event, other.data);
    }
  }
}

// Whether there may be more.
Result<bool> DaemonEvents::add_messages(Listener& listener, std::string& text) {
  HOLDFAST_TRY(const std::uint64_t last, inbox_.last_id());
  if (last <= listener.at.message) {
    return false;
  }
  InboxFilter filter;
  filter.after = listener.at.message;
  filter.limit = kMessagesPerPiece;
  HOLDFAST_TRY(const auto messages, inbox_.list(filter));
  for (const InboxMessage& message : messages) {
    listener.at.message = message.id;
    HOLDFAST_TRY(const JsonText json, to_json(view_of_message(message)));
    text += event_text(listener.at, "message", json.view());
  }
  if (messages.size() < kMessagesPerPiece) {
    listener.at.message = std::max(listener.at.message, last);  // the rest was removed
    return false;
  }
  return true;
}

Result<StreamPump::Piece> DaemonEvents::next_piece(Listener& listener) {
  StreamPump::Piece piece;
  add_others(listener, piece.text);
  HOLDFAST_TRY(piece.more, add_messages(listener, piece.text));
  return piece;
}

}  // namespace holdfast::delivery

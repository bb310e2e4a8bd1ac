// WebSocket frames: the first byte selects whose frames they are and how the rest is cut. The
// result must not depend on the cut, and what was read is read again when it is written out.
#include <vector>

#include "fuzz/target.h"
#include "net/ws_frames.h"

namespace holdfast::fuzz::ws_frames_fuzz {
namespace {

using net::WsEvent;
using net::WsOpcode;
using net::WsParser;
using net::WsPeer;

constexpr std::size_t kMostBytes = 300;  // small, so that inputs reach it

struct Outcome {
  std::vector<WsEvent> events;
  WsParser::State state = WsParser::State::reading;
  net::WsFault fault;
  std::size_t used = 0;
};

Outcome parse(std::string_view bytes, std::size_t piece, WsPeer peer) {
  WsParser parser(peer, kMostBytes);
  Outcome outcome;
  while (outcome.used < bytes.size() && parser.state() != WsParser::State::failed) {
    const std::string_view next = bytes.substr(outcome.used, piece);
    const std::size_t taken = parser.take(next);
    require(taken > 0 && taken <= next.size(), "some of the bytes are consumed, and no others");
    require(taken == next.size() || parser.state() != WsParser::State::reading,
            "a parser that waits for more has consumed everything");
    outcome.used += taken;
    if (parser.state() == WsParser::State::event) {
      outcome.events.push_back(parser.take_event());
    }
  }
  outcome.state = parser.state();
  outcome.fault = parser.fault();
  return outcome;
}

void require_same(const Outcome& left, const Outcome& right) {
  // Of a text that is not UTF-8, the rest of the piece is consumed.
  require(left.state == right.state &&
              (left.used == right.used || left.state == WsParser::State::failed),
          "the cut does not change the outcome");
  require(left.fault.code == right.fault.code && left.fault.reason == right.fault.reason,
          "the cut does not change the fault");
  require(left.events.size() == right.events.size(), "the cut does not change the events");
  for (std::size_t i = 0; i < left.events.size(); ++i) {
    require(left.events[i].kind == right.events[i].kind &&
                left.events[i].data == right.events[i].data &&
                left.events[i].code == right.events[i].code,
            "the cut does not change an event");
  }
}

void check_event(const WsEvent& event, WsPeer peer) {
  require(event.data.size() <= kMostBytes, "no message is larger than the limit");
  const bool control =
      event.kind == WsOpcode::close || event.kind == WsOpcode::ping || event.kind == WsOpcode::pong;
  require(!control || event.data.size() <= 125, "no control frame is longer than allowed");
  std::string payload = event.data;
  if (event.kind == WsOpcode::text || event.kind == WsOpcode::close) {
    net::Utf8Checker text;
    require(text.take(event.data) && text.complete(), "text is UTF-8");
  }
  if (event.kind == WsOpcode::close) {
    require(event.code == net::ws_code::kNoCode || net::is_ws_close_code(event.code),
            "a close code is one that may be sent");
    payload = event.code == net::ws_code::kNoCode ? std::string()
                                                  : net::ws_close_payload(event.code, event.data);
  }
  const auto mask =
      peer == WsPeer::client ? std::optional(net::WsMask{0xA5, 0, 0xFF, 7}) : std::nullopt;
  const std::string frame = net::ws_frame(event.kind, payload, mask);
  const Outcome again = parse(frame, frame.size(), peer);
  require(again.events.size() == 1 && again.used == frame.size(), "what is written is read");
  require(again.events[0].kind == event.kind && again.events[0].data == event.data &&
              again.events[0].code == event.code,
          "what is written is read to the same");
}

void check(std::string_view input) {
  const auto choice = static_cast<unsigned char>(fuzz::take_choice(input));
  const WsPeer peer = (choice & 1U) != 0 ? WsPeer::client : WsPeer::server;
  const Outcome whole = parse(input, input.size() + 1, peer);
  require_same(whole, parse(input, 1, peer));
  require_same(whole, parse(input, (choice >> 1U) + std::size_t{1}, peer));
  if (whole.state == WsParser::State::failed) {
    require(net::is_ws_close_code(whole.fault.code) && !whole.fault.reason.empty(),
            "a fault can be sent in a close frame");
  } else {
    require(whole.used == input.size(), "everything is consumed");
  }
  for (const WsEvent& event : whole.events) {
    check_event(event, peer);
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(ws_frames, check)

}  // namespace holdfast::fuzz::ws_frames_fuzz

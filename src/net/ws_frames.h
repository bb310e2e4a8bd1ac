// WebSocket framing (RFC 6455 section 5): bytes to messages, and messages to bytes. Used by the
// server and the client alike. No I/O, no clock; the result does not depend on how the bytes are
// split into pieces.
//
// It refuses what the RFC forbids: frames without the mask of a client or with one of a server,
// reserved bits and opcodes, lengths that are not minimal, control frames that are fragmented or
// longer than 125 bytes, fragments out of order, close codes that must not be sent, text that is
// not UTF-8. A message longer than the limit is refused at the header that exceeds it; memory
// grows only with bytes that have arrived, never with a length that was declared.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::net {

enum class WsOpcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

// Codes that this library sends or interprets; applications use 4000 to 4999.
namespace ws_code {
inline constexpr std::uint16_t kNormal = 1000;
inline constexpr std::uint16_t kGoingAway = 1001;
inline constexpr std::uint16_t kProtocolError = 1002;
inline constexpr std::uint16_t kUnsupportedData = 1003;
inline constexpr std::uint16_t kNoCode = 1005;  // never sent: the close frame had none
inline constexpr std::uint16_t kLost = 1006;    // never sent: the connection ended without one
inline constexpr std::uint16_t kInvalidText = 1007;
inline constexpr std::uint16_t kPolicy = 1008;
inline constexpr std::uint16_t kTooBig = 1009;
inline constexpr std::uint16_t kInternalError = 1011;
inline constexpr std::uint16_t kTryAgainLater = 1013;
}  // namespace ws_code

// Whether an endpoint may send the code in a close frame.
bool is_ws_close_code(std::uint16_t code);

// Bytes that arrive in pieces are UTF-8.
class Utf8Checker {
 public:
  // False as soon as no continuation could make it valid.
  bool take(std::string_view bytes);
  // The last character is complete.
  [[nodiscard]] bool complete() const { return needed_ == 0; }

 private:
  std::uint8_t needed_ = 0;  // bytes of the current character
  std::uint8_t low_ = 0x80;  // the range of the next of them
  std::uint8_t high_ = 0xBF;
};

// A whole message, or a control frame.
struct WsEvent {
  WsOpcode kind = WsOpcode::text;  // not continuation
  std::string data = {};           // of a close frame: the reason
  std::uint16_t code = 0;          // of a close frame; kNoCode if it has none
};

// The code with which to close, and a constant text.
struct WsFault {
  std::uint16_t code = ws_code::kProtocolError;
  std::string_view reason;
};

// Whose frames are read: those of clients are masked, those of servers are not.
enum class WsPeer : std::uint8_t { client, server };

class WsParser {
 public:
  enum class State : std::uint8_t { reading, event, failed };

  WsParser(WsPeer peer, std::size_t most_message_bytes)
      : most_message_bytes_(most_message_bytes), peer_(peer) {}

  // The number of bytes used; fewer than all only after an event or a fault.
  std::size_t take(std::string_view bytes);

  [[nodiscard]] State state() const { return state_; }
  // Once for each event; then it reads on.
  WsEvent take_event();
  [[nodiscard]] const WsFault& fault() const { return fault_; }

 private:
  static constexpr std::size_t kMostHeaderBytes = 14;

  std::size_t take_header(std::string_view bytes);
  std::size_t take_payload(std::string_view bytes);
  [[nodiscard]] std::size_t header_bytes() const;
  void end_header();
  [[nodiscard]] std::string_view header_fault() const;
  [[nodiscard]] std::uint64_t declared_length() const;
  void end_frame();
  void end_close();
  void fail(std::uint16_t code, std::string_view reason);

  [[nodiscard]] bool final() const { return (header_[0] & 0x80U) != 0; }
  [[nodiscard]] WsOpcode opcode() const { return static_cast<WsOpcode>(header_[0] & 0x0FU); }
  [[nodiscard]] bool is_control() const { return (header_[0] & 0x08U) != 0; }

  std::size_t most_message_bytes_;
  WsFault fault_;
  std::string message_;  // the data frames so far
  std::string control_;  // of the current control frame
  std::uint64_t remaining_ = 0;
  std::array<std::uint8_t, kMostHeaderBytes> header_{};
  std::uint8_t header_size_ = 0;
  std::uint8_t mask_at_ = 0;  // of the next byte
  WsPeer peer_;
  State state_ = State::reading;
  bool in_payload_ = false;
  WsOpcode message_kind_ = WsOpcode::continuation;  // of the open message; continuation: none
  Utf8Checker text_;
};

// Chosen anew for each frame of a client, unpredictably (RFC 6455 section 5.3).
using WsMask = std::array<std::uint8_t, 4>;

// One final frame; a server gives no mask.
void append_ws_frame(std::string& out, WsOpcode opcode, std::string_view payload,
                     const std::optional<WsMask>& mask = std::nullopt);
std::string ws_frame(WsOpcode opcode, std::string_view payload,
                     const std::optional<WsMask>& mask = std::nullopt);

// The payload of a close frame. A reason longer than 123 bytes is cut between characters.
std::string ws_close_payload(std::uint16_t code, std::string_view reason);

}  // namespace holdfast::net

#include "net/ws_frames.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "holdfast/assert.h"

namespace holdfast::net {

namespace {

constexpr std::size_t kMostControlBytes = 125;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;
constexpr std::uint8_t kMasked = 0x80;
constexpr std::uint8_t kFinal = 0x80;

std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

bool is_known(WsOpcode opcode) {
  const auto number = static_cast<std::uint8_t>(opcode);
  return number <= 2 || (number >= 8 && number <= 10);
}

void append_number(std::string& out, std::uint64_t value, int bytes) {
  for (int at = bytes - 1; at >= 0; --at) {
    out.push_back(static_cast<char>((value >> (8 * at)) & 0xFFU));
  }
}

}  // namespace

bool is_ws_close_code(std::uint16_t code) {
  constexpr std::uint16_t kFirstOfLibraries = 3000;
  constexpr std::uint16_t kLast = 4999;
  return (code >= 1000 && code <= 1014 && code != 1004 && code != ws_code::kNoCode &&
          code != ws_code::kLost) ||
         (code >= kFirstOfLibraries && code <= kLast);
}

bool Utf8Checker::take(std::string_view bytes) {
  for (const char c : bytes) {
    const std::uint8_t byte = byte_of(c);
    if (needed_ > 0) {
      if (byte < low_ || byte > high_) {
        return false;
      }
      --needed_;
      low_ = 0x80;
      high_ = 0xBF;
    } else if (byte >= 0xC2 && byte <= 0xDF) {
      needed_ = 1;
    } else if (byte >= 0xE0 && byte <= 0xEF) {
      needed_ = 2;
      low_ = byte == 0xE0 ? 0xA0 : 0x80;   // no overlong forms
      high_ = byte == 0xED ? 0x9F : 0xBF;  // no surrogates
    } else if (byte >= 0xF0 && byte <= 0xF4) {
      needed_ = 3;
      low_ = byte == 0xF0 ? 0x90 : 0x80;
      high_ = byte == 0xF4 ? 0x8F : 0xBF;  // up to U+10FFFF
    } else if (byte >= 0x80) {
      return false;
    }
  }
  return true;
}

void WsParser::fail(std::uint16_t code, std::string_view reason) {
  state_ = State::failed;
  fault_ = {code, reason};
  message_ = std::string();
  control_ = std::string();
}

WsEvent WsParser::take_event() {
  HOLDFAST_ASSERT(state_ == State::event);
  state_ = State::reading;
  WsEvent event;
  if (is_control()) {
    event.kind = opcode();
    event.data = std::exchange(control_, std::string());
    if (event.kind == WsOpcode::close) {
      event.code = ws_code::kNoCode;
      if (!event.data.empty()) {
        event.code =
            static_cast<std::uint16_t>(byte_of(event.data[0]) << 8U | byte_of(event.data[1]));
        event.data.erase(0, 2);
      }
    }
    return event;
  }
  event.kind = std::exchange(message_kind_, WsOpcode::continuation);
  event.data = std::exchange(message_, std::string());
  return event;
}

std::size_t WsParser::take(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ == State::reading) {
    const std::string_view rest = bytes.substr(used);
    used += in_payload_ ? take_payload(rest) : take_header(rest);
  }
  return used;
}

std::size_t WsParser::header_bytes() const {
  std::size_t size = 2;
  if (header_size_ >= size) {
    const auto length = static_cast<std::uint8_t>(header_[1] & 0x7FU);
    size += length == kLength16 ? std::size_t{2} : length == kLength64 ? 8 : 0;
    size += (header_[1] & kMasked) != 0 ? std::size_t{4} : 0;
  }
  return size;
}

std::uint64_t WsParser::declared_length() const {
  const auto length = static_cast<std::uint8_t>(header_[1] & 0x7FU);
  const std::size_t bytes = length == kLength16 ? std::size_t{2} : length == kLength64 ? 8 : 0;
  std::uint64_t value = bytes == 0 ? length : 0;
  for (std::size_t at = 0; at < bytes; ++at) {
    value = value << 8U | header_.at(2 + at);
  }
  return value;
}

std::size_t WsParser::take_header(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    header_.at(header_size_++) = byte_of(bytes[used++]);
    if (header_size_ == 2) {
      if (const std::string_view fault = header_fault(); !fault.empty()) {
        fail(ws_code::kProtocolError, fault);
        break;
      }
    }
    if (header_size_ >= 2 && header_size_ == header_bytes()) {
      end_header();
      break;
    }
  }
  return used;
}

// What the first two bytes show.
std::string_view WsParser::header_fault() const {
  if ((header_[0] & 0x70U) != 0) {
    return "a reserved bit is set";
  }
  if (!is_known(opcode())) {
    return "unknown opcode";
  }
  if (((header_[1] & kMasked) != 0) != (peer_ == WsPeer::client)) {
    return peer_ == WsPeer::client ? "a frame of a client is not masked"
                                   : "a frame of a server is masked";
  }
  if (is_control()) {
    if (!final()) {
      return "a control frame is fragmented";
    }
    return (header_[1] & 0x7FU) > kMostControlBytes ? "a control frame is too long" : "";
  }
  const bool open = message_kind_ != WsOpcode::continuation;
  if (opcode() == WsOpcode::continuation) {
    return open ? "" : "a continuation without a message";
  }
  return open ? "a message begins inside another" : "";
}

void WsParser::end_header() {
  const std::uint64_t length = declared_length();
  const auto form = static_cast<std::uint8_t>(header_[1] & 0x7FU);
  if ((form == kLength16 && length < kLength16) || (form == kLength64 && length <= 0xFFFFU) ||
      length > static_cast<std::uint64_t>(INT64_MAX)) {
    fail(ws_code::kProtocolError, "a length is not in its shortest form");
    return;
  }
  if (!is_control()) {
    if (length > most_message_bytes_ - message_.size()) {
      fail(ws_code::kTooBig, "the message is too large");
      return;
    }
    if (opcode() != WsOpcode::continuation) {
      message_kind_ = opcode();
      text_ = Utf8Checker();
    }
  }
  remaining_ = length;
  mask_at_ = 0;
  in_payload_ = true;
  if (remaining_ == 0) {
    end_frame();
  }
}

std::size_t WsParser::take_payload(std::string_view bytes) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
  std::string& into = is_control() ? control_ : message_;
  const std::size_t begin = into.size();
  into.append(bytes.substr(0, size));
  if (peer_ == WsPeer::client) {
    const std::size_t mask = header_size_ - std::size_t{4};
    for (std::size_t at = begin; at < into.size(); ++at) {
      into[at] = static_cast<char>(byte_of(into[at]) ^ header_.at(mask + mask_at_));
      mask_at_ = static_cast<std::uint8_t>((mask_at_ + 1) & 3U);
    }
  }
  remaining_ -= size;
  if (!is_control() && message_kind_ == WsOpcode::text &&
      !text_.take(std::string_view(into).substr(begin))) {
    fail(ws_code::kInvalidText, "the text is not UTF-8");
  } else if (remaining_ == 0) {
    end_frame();
  }
  return size;
}

void WsParser::end_frame() {
  in_payload_ = false;
  header_size_ = 0;
  if (is_control()) {
    state_ = State::event;
    if (opcode() == WsOpcode::close) {
      end_close();
    }
    return;
  }
  if (!final()) {
    return;
  }
  if (message_kind_ == WsOpcode::text && !text_.complete()) {
    fail(ws_code::kInvalidText, "the text is not UTF-8");
    return;
  }
  state_ = State::event;
}

void WsParser::end_close() {
  if (control_.empty()) {
    return;
  }
  if (control_.size() == 1) {
    fail(ws_code::kProtocolError, "a close frame has half a code");
    return;
  }
  const auto code = static_cast<std::uint16_t>(byte_of(control_[0]) << 8U | byte_of(control_[1]));
  Utf8Checker reason;
  if (!is_ws_close_code(code)) {
    fail(ws_code::kProtocolError, "a close frame has a code that must not be sent");
  } else if (!reason.take(std::string_view(control_).substr(2)) || !reason.complete()) {
    fail(ws_code::kInvalidText, "the reason of a close frame is not UTF-8");
  }
}

void append_ws_frame(std::string& out, WsOpcode opcode, std::string_view payload,
                     const std::optional<WsMask>& mask) {
  HOLDFAST_ASSERT(is_known(opcode) &&
                  (static_cast<std::uint8_t>(opcode) < 8 || payload.size() <= kMostControlBytes));
  out.reserve(out.size() + payload.size() + 14);
  out.push_back(static_cast<char>(kFinal | static_cast<std::uint8_t>(opcode)));
  const std::uint8_t masked = mask.has_value() ? kMasked : 0;
  if (payload.size() < kLength16) {
    out.push_back(static_cast<char>(masked | static_cast<std::uint8_t>(payload.size())));
  } else if (payload.size() <= 0xFFFF) {
    out.push_back(static_cast<char>(masked | kLength16));
    append_number(out, payload.size(), 2);
  } else {
    out.push_back(static_cast<char>(masked | kLength64));
    append_number(out, payload.size(), 8);
  }
  if (!mask.has_value()) {
    out.append(payload);
    return;
  }
  out.append(reinterpret_cast<const char*>(mask->data()), mask->size());
  for (std::size_t at = 0; at < payload.size(); ++at) {
    out.push_back(static_cast<char>(byte_of(payload[at]) ^ mask->at(at & 3U)));
  }
}

std::string ws_frame(WsOpcode opcode, std::string_view payload, const std::optional<WsMask>& mask) {
  std::string out;
  append_ws_frame(out, opcode, payload, mask);
  return out;
}

std::string ws_close_payload(std::uint16_t code, std::string_view reason) {
  HOLDFAST_ASSERT(is_ws_close_code(code));
  std::size_t size = 0;
  while (size < reason.size()) {
    const std::size_t next = std::max<std::size_t>(utf8_sequence_length(reason.substr(size)), 1);
    if (size + next > kMostControlBytes - 2) {
      break;
    }
    size += next;
  }
  std::string payload;
  append_number(payload, code, 2);
  payload.append(reason.substr(0, size));
  return payload;
}

}  // namespace holdfast::net

#include "lab/bench/wire_format.h"

#include <fmt/format.h>

#include "base/text.h"

namespace holdfast {

Error refused(std::string_view service, std::string_view answer) {
  constexpr std::size_t kShown = 300;
  return Error{ErrorCode::unavailable,
               fmt::format("{} refused a request: {}", service, answer.substr(0, kShown))};
}

Result<std::size_t> http_answer(std::string_view received) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const std::size_t end = received.find(kEnd);
  if (end == std::string_view::npos) {
    return kMore;
  }
  if (!received.starts_with("HTTP/1.1 20")) {
    return refused("the service", received);
  }
  const std::size_t at = received.find(kLength);
  if (at == std::string_view::npos) {
    return refused("the service", received);
  }
  std::string_view digits = received.substr(at + kLength.size());
  digits = digits.substr(0, digits.find('\r'));
  const std::size_t length = end + kEnd.size() + parse_decimal(digits).value_or(0);
  return received.size() < length ? kMore : length;
}

void put_number(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xffU));
  }
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

std::string postgres_message(char type, std::string_view content) {
  std::string message(1, type);
  put_number(message, content.size() + 4, 4);
  message += content;
  return message;
}

std::string text_z(std::string_view text) { return std::string(text) + '\0'; }

std::string postgres_startup(const std::string& user, const std::string& database) {
  std::string startup;
  put_number(startup, 3U << 16U, 4);
  startup += text_z("user") + text_z(user) + text_z("database") + text_z(database) + '\0';
  std::string greeting;
  put_number(greeting, startup.size() + 4, 4);
  return greeting + startup;
}

Result<std::size_t> postgres_ready(std::string_view received, int times) {
  for (std::size_t at = 0; at + 5 <= received.size();) {
    const std::size_t end = at + 1 + number_at(received, at + 1);
    if (end > received.size()) {
      break;
    }
    if (received[at] == 'E') {
      return refused("PostgreSQL", received.substr(at + 5));
    }
    times -= received[at] == 'Z' ? 1 : 0;
    at = end;
    if (times == 0) {
      return at;
    }
  }
  return kMore;
}

}  // namespace holdfast

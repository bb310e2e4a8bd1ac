#include "net/ws_handshake.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/base64.h"
#include "holdfast/assert.h"
#include "net/http_text.h"

namespace holdfast::net {

namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::string_view kVersion = "13";
constexpr std::size_t kKeyBytes = 16;
constexpr int kUpgradeRequired = 426;

// 16 bytes in base64, in its only canonical form.
bool is_key(std::string_view key) {
  const auto bytes = from_base64(key);
  return bytes.ok() && bytes.value().size() == kKeyBytes;
}

std::string_view only_value(const std::vector<Header>& headers, std::string_view name,
                            std::size_t& count) {
  std::string_view value;
  count = 0;
  for (const Header& header : headers) {
    if (same_ignoring_case(header.name, name)) {
      value = header.value;
      ++count;
    }
  }
  return value;
}

std::size_t count_of(const std::vector<Header>& headers, std::string_view name) {
  std::size_t count = 0;
  only_value(headers, name, count);
  return count;
}

// Whether a header that is a list of tokens has this one.
bool lists_token(const std::vector<Header>& headers, std::string_view name,
                 std::string_view token) {
  for (const Header& header : headers) {
    if (!same_ignoring_case(header.name, name)) {
      continue;
    }
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      if (same_ignoring_case(trimmed(item), token)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string ws_accept_of(std::string_view key) {
  std::string text(key);
  text += kGuid;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  HOLDFAST_ASSERT(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) ==
                  1);
  return to_base64(std::as_bytes(std::span(digest).first(size)));
}

bool requests_web_socket(const Request& request) {
  return lists_token(request.headers, "Upgrade", "websocket");
}

std::vector<Header> upgrade_headers() {
  return {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", std::string(kVersion)}};
}

Refused check_ws_request(const Request& request, const WsRules& rules) {
  std::size_t count = 0;
  if (!requests_web_socket(request)) {
    return Refusal{kUpgradeRequired, "invalid_argument", "this address is a WebSocket"};
  }
  if (request.method != "GET" || !request.body.empty()) {
    return bad_request("a WebSocket begins with a GET request without a body");
  }
  if (!lists_token(request.headers, "Connection", "upgrade")) {
    return bad_request("the header Connection does not name Upgrade");
  }
  const std::string_view version = only_value(request.headers, "Sec-WebSocket-Version", count);
  if (count != 1 || version != kVersion) {
    return Refusal{kUpgradeRequired, "invalid_argument", "the version of WebSocket must be 13"};
  }
  const std::string_view key = only_value(request.headers, "Sec-WebSocket-Key", count);
  if (count != 1 || !is_key(key)) {
    return bad_request("the header Sec-WebSocket-Key must have 16 bytes in base64");
  }
  const std::string_view origin = only_value(request.headers, "Origin", count);
  const bool allowed =
      std::find(rules.origins.begin(), rules.origins.end(), origin) != rules.origins.end();
  if (count > 1 || (count == 1 && !allowed)) {
    return Refusal{403, "permission_denied", "this origin may not open a WebSocket here"};
  }
  return std::nullopt;
}

std::string ws_response_head(std::string_view key, std::string_view date) {
  return fmt::format(
      "HTTP/1.1 101 Switching Protocols\r\nDate: {}\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
      date, ws_accept_of(key));
}

std::string ws_key(const std::array<std::byte, 16>& random) { return to_base64(random); }

std::string_view ws_response_fault(const std::vector<Header>& headers, std::string_view key) {
  std::size_t count = 0;
  if (!same_ignoring_case(only_value(headers, "Upgrade", count), "websocket") || count != 1) {
    return "the response does not name Upgrade: websocket";
  }
  if (!lists_token(headers, "Connection", "upgrade")) {
    return "the response does not name Connection: Upgrade";
  }
  if (only_value(headers, "Sec-WebSocket-Accept", count) != ws_accept_of(key) || count != 1) {
    return "the response does not answer the key";
  }
  if (count_of(headers, "Sec-WebSocket-Extensions") != 0 ||
      count_of(headers, "Sec-WebSocket-Protocol") != 0) {
    return "the response selects what was not requested";
  }
  return {};
}

}  // namespace holdfast::net

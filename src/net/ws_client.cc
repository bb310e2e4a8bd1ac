#include "net/ws_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/blocked_sigpipe.h"
#include "base/text.h"
#include "holdfast/assert.h"
#include "net/http_head.h"
#include "net/http_transfer.h"
#include "net/ws_handshake.h"

namespace holdfast::net {

namespace {

constexpr std::size_t kReadBytes = 16U << 10U;
constexpr std::size_t kMostHeadBytes = 64U << 10U;
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr int kSwitched = 101;

Error lost_error(std::string_view reason) {
  return Error{ErrorCode::unavailable, fmt::format("the WebSocket is lost: {}", reason)};
}

Error refused_error(int status, const Url& url) {
  constexpr int kUnauthorized = 401;
  constexpr int kForbidden = 403;
  constexpr int kFirstFailure = 500;
  const ErrorCode code = status == kUnauthorized   ? ErrorCode::unauthenticated
                         : status == kForbidden    ? ErrorCode::permission_denied
                         : status >= kFirstFailure ? ErrorCode::unavailable
                                                   : ErrorCode::invalid_argument;
  return Error{code, fmt::format("{} does not open a WebSocket: status {}", url.origin(), status)}
      .with("status", std::to_string(status));
}

struct ResponseHead {
  int status = 0;
  std::vector<Header> headers;
};

Result<ResponseHead> parse_head(std::string_view text) {
  ResponseHead head;
  const std::string_view line = text.substr(0, text.find("\r\n"));
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr std::size_t kStatusDigits = 3;
  if (!line.starts_with(kVersion)) {
    return lost_error("the response is not HTTP/1.1");
  }
  const std::string_view status = line.substr(kVersion.size(), kStatusDigits);
  head.status = static_cast<int>(parse_decimal(status).value_or(0));
  std::string_view rest = text.substr(line.size());
  while (rest.starts_with("\r\n") && rest != kHeadEnd && rest.size() > 2) {
    rest.remove_prefix(2);
    const std::string_view field = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(field.size());
    if (!field.empty() && read_field(field, head.headers.emplace_back()).has_value()) {
      return lost_error("the response has a header that is not valid");
    }
  }
  return head;
}

}  // namespace

WsClient::WsClient(Url url, WsClientOptions options, Random& random)
    : url_(std::move(url)),
      options_(std::move(options)),
      random_(random),
      transfer_(std::make_unique<HttpTransfer>(url_, options_.http)),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      buffer_(kReadBytes),
      parser_(WsPeer::server, options_.message_bytes) {}

WsClient::~WsClient() = default;

Result<std::unique_ptr<WsClient>> WsClient::connect(Url url, WsClientOptions options,
                                                    Random& random) {
  std::unique_ptr<WsClient> client(new WsClient(std::move(url), std::move(options), random));
  HOLDFAST_CHECK(client->open());
  HOLDFAST_CHECK(client->shake_hands());
  return client;
}

Result<void> WsClient::open() {
  const BlockedSigpipe blocked;
  HttpCall call;
  call.target = options_.target;
  if (!transfer_->prepare(call, nullptr)) {
    return Error{ErrorCode::invalid_argument, "libcurl does not accept the address"};
  }
  CURL* const easy = transfer_->handle();
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  const CURLcode code = curl_easy_perform(easy);
  if (code != CURLE_OK) {
    return Error{ErrorCode::unavailable, transfer_->finish(static_cast<int>(code)).reason};
  }
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK ||
      socket == CURL_SOCKET_BAD) {
    return lost_error("there is no connection");
  }
  socket_ = socket;
  return {};
}

Result<void> WsClient::shake_hands() {
  std::array<std::byte, 16> bytes{};
  random_.fill(bytes);
  const std::string key = ws_key(bytes);
  const bool is_unix = url_.kind == Url::Kind::unix_socket;
  std::string request = fmt::format(
      "GET {}{} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\nUser-Agent: {}\r\n",
      is_unix || url_.path.ends_with('/') ? "" : url_.path, options_.target,
      is_unix ? "localhost" : url_.authority, key, options_.http.user_agent);
  if (!options_.http.token.empty()) {
    request += fmt::format("Authorization: Bearer {}\r\n", options_.http.token);
  }
  for (const auto& [name, value] : options_.headers) {
    request += fmt::format("{}: {}\r\n", name, value);
  }
  request += "\r\n";
  HOLDFAST_CHECK(write(request));
  HOLDFAST_TRY(const std::string text,
               read_head(std::chrono::steady_clock::now() + options_.handshake));
  HOLDFAST_TRY(const ResponseHead head, parse_head(text));
  if (head.status != kSwitched) {
    return refused_error(head.status, url_);
  }
  if (const std::string_view fault = ws_response_fault(head.headers, key); !fault.empty()) {
    return lost_error(fault);
  }
  return {};
}

Result<std::string> WsClient::read_head(Time deadline) {
  std::string head;
  for (;;) {
    HOLDFAST_TRY(const std::string_view bytes, read());
    head += bytes;
    if (const std::size_t end = head.find(kHeadEnd); end != std::string::npos) {
      unread_ = head.substr(end + kHeadEnd.size());
      head.resize(end + kHeadEnd.size());
      return head;
    }
    if (head.size() > kMostHeadBytes) {
      return lost_error("the head of the response is too large");
    }
    if (bytes.empty() && wait(POLLIN, deadline) == Ready::late) {
      return lost_error("the server did not respond in time");
    }
  }
}

WsClient::Ready WsClient::wait(short events, Time deadline) const {
  // A wake-up is for receive(), not for what is being sent.
  const int event = events == POLLIN ? event_.get() : -1;
  std::array<pollfd, 2> polled{{{socket_, events, 0}, {event, POLLIN, 0}}};
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  const auto timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  const int count = ::poll(polled.data(), polled.size(), timeout);
  if (count == 0) {
    return Ready::late;
  }
  if ((polled[1].revents & POLLIN) != 0) {
    std::uint64_t number = 0;
    [[maybe_unused]] const auto taken = ::read(event_.get(), &number, sizeof number);
    return Ready::woken;
  }
  return Ready::socket;
}

Result<std::string_view> WsClient::read() {
  std::size_t size = 0;
  const CURLcode code = curl_easy_recv(transfer_->handle(), buffer_.data(), buffer_.size(), &size);
  if (code == CURLE_AGAIN) {
    return std::string_view();
  }
  if (code != CURLE_OK) {
    return lost_error(curl_easy_strerror(code));
  }
  if (size == 0) {
    return lost_error("the server closed the connection");
  }
  return std::string_view(buffer_.data(), size);
}

Result<void> WsClient::write(std::string_view bytes) {
  const BlockedSigpipe blocked;
  auto deadline = std::chrono::steady_clock::now() + options_.send;
  while (!bytes.empty()) {
    std::size_t size = 0;
    const CURLcode code = curl_easy_send(transfer_->handle(), bytes.data(), bytes.size(), &size);
    if (code != CURLE_OK && code != CURLE_AGAIN) {
      return lost_error(curl_easy_strerror(code));
    }
    bytes.remove_prefix(size);
    if (size > 0) {
      deadline = std::chrono::steady_clock::now() + options_.send;
    } else if (wait(POLLOUT, deadline) == Ready::late) {
      return lost_error("the server does not read");
    }
  }
  return {};
}

Result<void> WsClient::send_frame(WsOpcode opcode, std::string_view payload) {
  if (ended_) {
    return lost_error("it was closed");
  }
  WsMask mask{};
  random_.fill(std::as_writable_bytes(std::span(mask)));
  return write(ws_frame(opcode, payload, mask));
}

Result<void> WsClient::send(std::string_view text) { return send_frame(WsOpcode::text, text); }

Result<void> WsClient::ping() { return send_frame(WsOpcode::ping, ""); }

void WsClient::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

WsIncoming WsClient::lost(std::string_view reason) {
  ended_ = true;
  return {WsIncoming::Kind::closed, std::string(reason), ws_code::kLost};
}

// True when it is something for the caller.
bool WsClient::handle(WsEvent event, WsIncoming& incoming) {
  switch (event.kind) {
    case WsOpcode::text:
      incoming = {WsIncoming::Kind::text, std::move(event.data), 0};
      return true;
    case WsOpcode::close:
      static_cast<void>(send_frame(
          WsOpcode::close, event.code == ws_code::kNoCode ? "" : ws_close_payload(event.code, "")));
      ended_ = true;
      incoming = {WsIncoming::Kind::closed, std::move(event.data), event.code};
      return true;
    case WsOpcode::binary:
      close(ws_code::kUnsupportedData, "only text is accepted");
      incoming = lost("the server sent a binary message");
      return true;
    case WsOpcode::ping:
      static_cast<void>(send_frame(WsOpcode::pong, event.data));
      return false;
    case WsOpcode::pong:
    case WsOpcode::continuation:
      return false;
  }
  return false;
}

WsIncoming WsClient::receive(std::chrono::milliseconds silence) {
  auto deadline = std::chrono::steady_clock::now() + silence;
  WsIncoming incoming;
  while (!ended_) {
    if (!unread_.empty()) {
      unread_.erase(0, parser_.take(unread_));
    }
    if (parser_.state() == WsParser::State::failed) {
      const WsFault fault = parser_.fault();
      close(fault.code, fault.reason);
      return lost(fault.reason);
    }
    if (parser_.state() == WsParser::State::event) {
      if (handle(parser_.take_event(), incoming)) {
        return incoming;
      }
      continue;
    }
    const auto bytes = read();
    if (!bytes.ok()) {
      return lost(bytes.error().message());
    }
    if (!bytes.value().empty()) {
      deadline = std::chrono::steady_clock::now() + silence;
      unread_ = bytes.value();
      continue;
    }
    switch (wait(POLLIN, deadline)) {
      case Ready::late:
        return {WsIncoming::Kind::silent};
      case Ready::woken:
        return {WsIncoming::Kind::woken};
      case Ready::socket:
        break;
    }
  }
  return lost("it was closed");
}

void WsClient::close(std::uint16_t code, std::string_view reason) {
  if (!ended_) {
    static_cast<void>(send_frame(WsOpcode::close, ws_close_payload(code, reason)));
    ended_ = true;
  }
  if (socket_ >= 0) {
    ::shutdown(std::exchange(socket_, -1), SHUT_WR);
  }
}

}  // namespace holdfast::net

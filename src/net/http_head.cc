#include "net/http_head.h"

#include <algorithm>
#include <limits>

#include "net/http_text.h"

namespace holdfast::net {

namespace {

constexpr std::size_t kMaxHeaders = 128;

// The part before the next CR LF; every line of a head has one.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find("\r\n"), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 2, rest.size()));
  return line;
}

Refused read_version(std::string_view text, Head& head) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 8 || !text.starts_with("HTTP/") || text[6] != '.' || !digit(text[5]) ||
      !digit(text[7])) {
    return bad_request("the request line does not end with a version");
  }
  if (text != "HTTP/1.1" && text != "HTTP/1.0") {
    return Refusal{505, "unsupported_version", "the server supports only HTTP/1.1 and HTTP/1.0"};
  }
  head.minor = text.back() - '0';
  head.keep_alive = head.minor == 1;
  return {};
}

bool is_target(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

// A host with an optional port, and no character of another part of a URL.
bool is_authority(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f &&
           std::string_view("/?#@\\,\"<>").find(c) == std::string_view::npos;
  });
}

// Reduces "http://host:80/path" to "/path" and sets `authority`; other forms stay as they are.
Refused reduce_target(std::string_view& target, std::string_view& authority) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!same_ignoring_case(target.substr(0, scheme.size()), scheme)) {
      continue;
    }
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    authority = target.substr(0, end);
    target.remove_prefix(end);
    if (authority.empty() || !is_authority(authority)) {
      return bad_request("the target has no valid host");
    }
    return {};
  }
  return {};
}

void set_target(std::string_view target, Request& request) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = mark == 0 ? "/" : target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
}

Refused read_request_line(std::string_view line, Head& head, std::string_view& authority) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return bad_request("the request line does not consist of method, target and version");
  }
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(method)) {
    return bad_request("the method is not valid");
  }
  head.request.method = method;
  if (auto refused = read_version(line.substr(last + 1), head)) {
    return refused;
  }
  if (!is_target(target)) {
    return bad_request("the target has characters that must be encoded");
  }
  if (auto refused = reduce_target(target, authority)) {
    return refused;
  }
  const bool all = target == "*" && method == "OPTIONS" && authority.empty();
  if (!all && !target.starts_with('/') && authority.empty()) {
    return bad_request("the target is not a path");
  }
  set_target(target, head.request);
  return {};
}

Refused read_length(std::string_view text, std::uint64_t& length) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  length = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return bad_request("Content-Length is not a number");
    }
    const auto digit = static_cast<std::uint64_t>(c - '0');
    length = length > (kMost - digit) / 10 ? kMost : length * 10 + digit;
  }
  return text.empty() ? Refused(bad_request("Content-Length is not a number")) : Refused();
}

void read_connection(std::string_view list, bool& close, bool& keep) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view item = trimmed(list.substr(0, end));
    close = close || same_ignoring_case(item, "close");
    keep = keep || same_ignoring_case(item, "keep-alive");
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// The headers that describe the message itself.
struct Framing {
  std::size_t hosts = 0;
  std::size_t codings = 0;
  std::optional<std::uint64_t> length = {};
  bool close = false;
  bool keep = false;
};

Refused note_field(const Header& field, Framing& framing, Head& head) {
  if (same_ignoring_case(field.name, "host")) {
    ++framing.hosts;
    return is_authority(field.value) ? Refused() : bad_request("Host is not valid");
  }
  if (same_ignoring_case(field.name, "content-length")) {
    std::uint64_t length = 0;
    if (auto refused = read_length(field.value, length)) {
      return refused;
    }
    if (framing.length.value_or(length) != length) {
      return bad_request("the request has two different Content-Length headers");
    }
    framing.length = length;
  } else if (same_ignoring_case(field.name, "transfer-encoding")) {
    ++framing.codings;
    if (!same_ignoring_case(field.value, "chunked")) {
      return Refusal{501, "not_implemented",
                     "the server supports only the transfer coding chunked"};
    }
  } else if (same_ignoring_case(field.name, "connection")) {
    read_connection(field.value, framing.close, framing.keep);
  } else if (same_ignoring_case(field.name, "expect") && head.minor == 1) {
    if (!same_ignoring_case(field.value, "100-continue")) {
      return Refusal{417, "invalid_argument",
                     "the server supports only the expectation 100-continue"};
    }
    head.expects_continue = true;
  }
  return {};
}

Refused apply_framing(const Framing& framing, std::string_view authority, Head& head) {
  if (framing.hosts > 1 || (framing.hosts == 0 && head.minor == 1)) {
    return bad_request("the request must have exactly one Host header");
  }
  if (framing.codings > 1 || (framing.codings == 1 && head.minor == 0)) {
    return bad_request("Transfer-Encoding is not valid here");
  }
  if (framing.codings == 1 && framing.length.has_value()) {
    return bad_request("the request has both Content-Length and Transfer-Encoding");
  }
  head.chunked = framing.codings == 1;
  head.content_length = framing.length.value_or(0);
  head.keep_alive = !framing.close && (head.minor == 1 || framing.keep);
  if (!authority.empty()) {
    auto& headers = head.request.headers;
    const auto host = std::find_if(headers.begin(), headers.end(), [](const Header& header) {
      return same_ignoring_case(header.name, "host");
    });
    if (host == headers.end()) {
      headers.push_back({"Host", std::string(authority)});
    } else {
      host->value = authority;
    }
  }
  return {};
}

}  // namespace

Refused read_field(std::string_view line, Header& field) {
  if (line.starts_with(' ') || line.starts_with('\t')) {
    return bad_request("a header is folded over several lines");
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return bad_request("a header has no valid name");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_value(value)) {
    return bad_request("a header has control characters in its value");
  }
  field.name = line.substr(0, colon);
  field.value = value;
  return {};
}

Refused read_head(std::string_view text, Head& head) {
  std::string_view authority;
  if (auto refused = read_request_line(take_line(text), head, authority)) {
    return refused;
  }
  Framing framing;
  while (!text.empty()) {
    if (head.request.headers.size() == kMaxHeaders) {
      return too_large(431, "the request has too many headers");
    }
    Header& field = head.request.headers.emplace_back();
    if (auto refused = read_field(take_line(text), field)) {
      return refused;
    }
    if (auto refused = note_field(field, framing, head)) {
      return refused;
    }
  }
  return apply_framing(framing, authority, head);
}

}  // namespace holdfast::net

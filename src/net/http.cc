#include "net/http.h"

#include <algorithm>
#include <array>

#include "net/http_text.h"

namespace holdfast::net {

namespace {

struct Reason {
  int status;
  std::string_view text;
};

constexpr std::array kReasons{
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{204, "No Content"},
    Reason{304, "Not Modified"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{413, "Content Too Large"},
    Reason{414, "URI Too Long"},
    Reason{417, "Expectation Failed"},
    Reason{422, "Unprocessable Content"},
    Reason{426, "Upgrade Required"},
    Reason{429, "Too Many Requests"},
    Reason{431, "Request Header Fields Too Large"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{503, "Service Unavailable"},
    Reason{505, "HTTP Version Not Supported"},
    Reason{507, "Insufficient Storage"},
};

bool needs_no_encoding(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (same_ignoring_case(header.name, name)) {
      return header.value;
    }
  }
  return {};
}

std::string_view reason_of(int status) {
  const auto* const found =
      std::find_if(kReasons.begin(), kReasons.end(),
                   [&](const Reason& reason) { return reason.status == status; });
  return found == kReasons.end() ? std::string_view() : found->text;
}

std::optional<std::string> url_decoded(std::string_view text, UrlPart part) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+' && part == UrlPart::query) {
      out.push_back(' ');
    } else if (text[at] != '%') {
      out.push_back(text[at]);
    } else {
      const int high = at + 2 < text.size() ? hex_value(text[at + 1]) : -1;
      const int low = high < 0 ? -1 : hex_value(text[at + 2]);
      if (low < 0) {
        return std::nullopt;
      }
      out.push_back(static_cast<char>(high * 16 + low));
      at += 2;
    }
  }
  return out;
}

std::string url_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (needs_no_encoding(c)) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kDigits[byte >> 4U]);
      out.push_back(kDigits[byte & 15U]);
    }
  }
  return out;
}

std::optional<std::vector<Header>> query_members(std::string_view query) {
  std::vector<Header> members;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view member = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (member.empty()) {
      continue;
    }
    const std::size_t equals = std::min(member.find('='), member.size());
    auto name = url_decoded(member.substr(0, equals), UrlPart::query);
    auto value = url_decoded(member.substr(std::min(equals + 1, member.size())), UrlPart::query);
    if (!name.has_value() || !value.has_value()) {
      return std::nullopt;
    }
    members.push_back({std::move(*name), std::move(*value)});
  }
  return members;
}

}  // namespace holdfast::net

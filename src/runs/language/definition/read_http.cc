// The safe rules for HTTP steps, as far as a definition shows whether they are kept.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.h"
#include "base/text.h"
#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

constexpr TextLimits kHostLimits{.most = 255};
constexpr TextLimits kHeaderLimits{.least = 0, .most = 4096};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_letter_or_digit(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_port(std::string_view text) {
  constexpr std::size_t kMaxDigits = 5;
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A name, an address, or an IPv6 address in brackets.
bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
      return is_letter_or_digit(c) || c == ':' || c == '.';
    });
  }
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
  });
}

// The host of host[:port]; empty when it is neither.
std::string_view host_of(std::string_view authority) {
  const std::size_t behind = authority.starts_with('[') ? authority.find(']') : 0;
  const std::size_t colon = behind == std::string_view::npos ? behind : authority.find(':', behind);
  const std::string_view host = authority.substr(0, colon);
  if (colon != std::string_view::npos && !is_port(authority.substr(colon + 1))) {
    return {};
  }
  return is_host(host) ? host : std::string_view();
}

void check_templates(const SpecLocation& location, std::string_view path) {
  while (!path.empty()) {
    const std::size_t brace = path.find_first_of("{}");
    if (brace == std::string_view::npos) {
      return;
    }
    const std::size_t end = path.find_first_of("{}", brace + 1);
    if (path[brace] == '}' || end == std::string_view::npos || path[end] == '{') {
      location.fault("has an unmatched brace; write {name}");
      return;
    }
    const std::string_view name = path.substr(brace + 1, end - brace - 1);
    if (!check_name("field", name).ok()) {
      location.fault(fmt::format("has {{{}}}, which is not the name of an input field",
                                 printable(name, kMaxShownBytes)));
    }
    path.remove_prefix(end + 1);
  }
}

// The host of the URL, in lower case; empty when there is a fault.
std::string check_url(const SpecLocation& location, std::string_view url) {
  const std::string_view scheme = url.substr(0, url.find("://"));
  if (scheme != "http" && scheme != "https") {
    location.fault("is not a URL; it must begin with https:// or http://");
    return "";
  }
  const std::string_view rest = url.substr(scheme.size() + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::string_view path = rest.substr(authority.size());
  if (!std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
    location.fault("has spaces or non-ASCII characters; percent-encode them");
  }
  if (authority.find('@') != std::string_view::npos) {
    location.fault("contains a user or password; use credential_refs instead");
    return "";
  }
  if (path.find('?') != std::string_view::npos) {
    location.fault("has a query; list the input fields in query instead");
  }
  if (path.find('#') != std::string_view::npos) {
    location.fault("has a fragment; remove it");
  }
  const std::string_view host = host_of(authority);
  if (host.empty()) {
    location.fault("needs a fixed host; {name} is allowed only in the path");
    return "";
  }
  check_templates(location, path);
  return lowered(host);
}

bool looks_secret(std::string_view header) {
  constexpr std::array<std::string_view, 9> kSecret = {
      "authorization", "cookie",  "token",  "secret",     "password",
      "api-key",       "api_key", "apikey", "credential",
  };
  const std::string name = lowered(header);
  return std::any_of(kSecret.begin(), kSecret.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

bool is_header_name(std::string_view name) {
  constexpr std::size_t kMaxBytes = 128;
  return !name.empty() && name.size() <= kMaxBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter_or_digit(c) ||
                  std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
         });
}

bool is_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20U && c != '\t') || byte == 0x7fU;
  });
}

void read_headers(const SpecObject& object, HttpSpec& http) {
  const auto slice = object.find("headers");
  if (!slice.has_value()) {
    return;
  }
  for (const auto& [name, value] : read_members(object.at("headers"), *slice)) {
    const SpecLocation at = object.at("headers").at(name);
    SharedText& text = http.headers[name];
    read_text(at, value, text, kHeaderLimits);
    if (!is_header_name(name)) {
      at.fault("is not a valid header name");
    } else if (looks_secret(name)) {
      at.fault("looks like a secret; name the credential in credential_refs instead");
    }
    if (!is_header_value(text.view())) {
      at.fault("has control characters in its value");
    }
  }
}

void read_credentials(const SpecObject& object, HttpSpec& http) {
  const auto slice = object.find("credential_refs");
  if (!slice.has_value()) {
    return;
  }
  for (const auto& [name, value] : read_members(object.at("credential_refs"), *slice)) {
    const SpecLocation at = object.at("credential_refs").at(name);
    read_name(at, value, "credential", http.credential_refs[name]);
    if (!is_header_name(name)) {
      at.fault("is not a valid header name");
    }
    const std::string header = lowered(name);
    const bool twice = std::any_of(http.headers.begin(), http.headers.end(),
                                   [&](const auto& own) { return lowered(own.first) == header; });
    if (twice) {
      at.fault("is also in headers; remove one");
    }
  }
}

std::string_view without_port(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  const bool port =
      colon != std::string_view::npos && parse_decimal(authority.substr(colon + 1)).has_value();
  return port ? authority.substr(0, colon) : authority;
}

void read_hosts(const SpecObject& object, const std::string& host, HttpSpec& http) {
  const auto slice = object.need("allowed_hosts");
  if (!slice.has_value()) {
    return;
  }
  const SpecLocation at = object.at("allowed_hosts");
  const auto items = read_items(at, *slice);
  bool found = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    SharedText& allowed = http.allowed_hosts.emplace_back();
    if (!read_text(at.at(i), items[i], allowed, kHostLimits)) {
      continue;
    }
    const std::string_view name = without_port(allowed.view());
    if (!is_host(name)) {
      at.at(i).fault("is not a host; write host or host:port, without scheme and path");
    }
    found = found || lowered(name) == host;
  }
  if (slice->starts_with('[') && !host.empty() && !found) {
    at.fault(fmt::format("does not list {}, the host of the url", quote(host)));
  }
}

void read_method(const SpecObject& object, HttpSpec& http) {
  const auto slice = object.need("method");
  if (!slice.has_value()) {
    return;
  }
  const std::vector<std::string_view> methods = {"DELETE", "GET",  "HEAD", "OPTIONS",
                                                 "PATCH",  "POST", "PUT"};
  std::string text(*slice);
  std::transform(text.begin(), text.end(), text.begin(), upper);
  if (const auto found = read_word(object.at("method"), text, methods)) {
    http.method = methods[*found];
  }
}

}  // namespace

void read_http(const SpecLocation& location, std::string_view slice, HttpSpec& http) {
  const SpecObject object(location, slice, kHttpObject);
  if (!object.is_object()) {
    return;
  }
  read_method(object, http);
  std::string host;
  object.read_all(http);
  if (!http.url.empty()) {
    host = check_url(object.at("url"), http.url.view());
  }
  read_hosts(object, host, http);
  read_headers(object, http);
  read_credentials(object, http);
  if (const auto query = object.find("query")) {
    const auto items = read_items(object.at("query"), *query);
    for (std::size_t i = 0; i < items.size(); ++i) {
      read_text(object.at("query").at(i), items[i], http.query.emplace_back(), {.most = 128});
    }
  }
  object.finish();
}

}  // namespace holdfast

#include "runs/steps/http_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "runs/steps/utf8_cut.h"

namespace holdfast {
namespace {

constexpr std::uint64_t kHttpPort = 80;
constexpr std::uint64_t kHttpsPort = 443;
constexpr std::uint64_t kMaxPort = 65535;

Error refused_url(std::string message) {
  return Error(ErrorCode::invalid_argument, std::move(message));
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_unreserved(char c) {
  return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

void append_encoded(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
}

Result<std::string> scalar_field(const Json& input, std::string_view name) {
  const auto field = input.find(name);
  if (!field) {
    return refused_url(fmt::format("the input has no field '{}'", valid_utf8(name)));
  }
  if (const auto text = field->string()) {
    return std::string(*text);
  }
  JsonWriter writer;
  if (const auto truth = field->boolean()) {
    writer.boolean(*truth);
  } else if (const auto integer = field->integer()) {
    writer.integer(*integer);
  } else if (const auto natural = field->unsigned_integer()) {
    writer.unsigned_integer(*natural);
  } else if (const auto number = field->number()) {
    writer.number(*number);
  } else {
    return refused_url(
        fmt::format("the field '{}' is no text, number or truth value", valid_utf8(name)));
  }
  return std::move(writer).take();
}

Result<std::string> fill(std::string_view url_template, const Json& input) {
  std::string out;
  while (!url_template.empty()) {
    const std::size_t brace = std::min(url_template.find_first_of("{}"), url_template.size());
    out += url_template.substr(0, brace);
    url_template.remove_prefix(brace);
    if (url_template.empty()) {
      break;
    }
    const std::size_t end = url_template.find('}');
    if (url_template.front() == '}' || end == std::string_view::npos) {
      return refused_url("the URL has a brace without its partner");
    }
    const std::string_view name = url_template.substr(1, end - 1);
    HOLDFAST_TRY(const std::string value, scalar_field(input, name));
    // Without this, DELETE /items/{id} would be a request about all items.
    if (value.empty()) {
      return refused_url(fmt::format("the field '{}' is empty", valid_utf8(name)));
    }
    append_encoded(out, value);
    url_template.remove_prefix(end + 1);
  }
  return out;
}

struct HostAndPort {
  std::string host;  // lower case
  std::optional<std::uint64_t> port;
};

std::optional<HostAndPort> split_authority(std::string_view text) {
  HostAndPort parts;
  std::size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    ++end;
    const std::string_view address = text.substr(1, end - 2);
    if (!std::all_of(address.begin(), address.end(),
                     [](char c) { return is_hex(c) || c == ':' || c == '.'; })) {
      return std::nullopt;
    }
  } else {
    end = std::min(text.find(':'), text.size());
    const std::string_view name = text.substr(0, end);
    if (!std::all_of(name.begin(), name.end(), [](char c) {
          return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
        })) {
      return std::nullopt;
    }
  }
  parts.host = lower(text.substr(0, end));
  if (end < text.size()) {
    parts.port = text[end] == ':' ? parse_decimal(text.substr(end + 1)) : std::nullopt;
    if (!parts.port || *parts.port == 0 || *parts.port > kMaxPort) {
      return std::nullopt;
    }
  }
  return parts.host.empty() ? std::nullopt : std::optional(parts);
}

// An entry without a port allows every port of the host.
bool is_allowed(const HostAndPort& target, std::uint64_t standard_port,
                const std::vector<SharedText>& allowed_hosts) {
  return std::any_of(allowed_hosts.begin(), allowed_hosts.end(), [&](const SharedText& entry) {
    const auto allowed = split_authority(entry.view());
    const std::uint64_t port = target.port.value_or(standard_port);
    return allowed && allowed->host == target.host && allowed->port.value_or(port) == port;
  });
}

// "." and "..", also written as %2e: servers and proxies resolve them.
bool is_dot_segment(std::string_view segment) {
  std::string plain = lower(segment);
  for (std::size_t at = plain.find("%2e"); at != std::string::npos; at = plain.find("%2e")) {
    plain.replace(at, 3, ".");
  }
  return plain == "." || plain == "..";
}

Result<void> check_path(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool escape =
        path[i] == '%' && i + 2 < path.size() && is_hex(path[i + 1]) && is_hex(path[i + 2]);
    if (!escape && !is_unreserved(path[i]) &&
        std::string_view("/!$&'()*+,;=:@").find(path[i]) == std::string_view::npos) {
      return refused_url("the path of the URL holds a character that is not allowed there");
    }
  }
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t length = std::min(path.find('/'), path.size());
    if (is_dot_segment(path.substr(0, length))) {
      return refused_url("the path of the URL has a segment '.' or '..'");
    }
    path.remove_prefix(length);
  }
  return {};
}

}  // namespace

Result<HttpUrl> fill_http_url(std::string_view url_template, const Json& input,
                              const std::vector<SharedText>& allowed_hosts) {
  HOLDFAST_TRY(const std::string url, fill(url_template, input));
  const std::size_t colon = url.find("://");
  const std::string scheme = lower(std::string_view(url).substr(0, std::min(colon, url.size())));
  if (scheme != "http" && scheme != "https") {
    return refused_url("the URL does not start with http:// or https://");
  }
  if (url.find_first_of("?#") != std::string::npos) {
    return refused_url("the URL has a query or a fragment");
  }
  const std::string_view rest = std::string_view(url).substr(colon + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);
  if (authority.find('@') != std::string_view::npos) {
    return refused_url("the URL has a user name");
  }
  const auto target = split_authority(authority);
  if (!target) {
    return refused_url("the URL has no valid host and port");
  }
  if (!is_allowed(*target, scheme == "http" ? kHttpPort : kHttpsPort, allowed_hosts)) {
    return refused_url(fmt::format("the host '{}' is not one of allowed_hosts", lower(authority)));
  }
  const std::string_view path = rest.substr(slash);
  HOLDFAST_CHECK(check_path(path));
  return HttpUrl{.text = fmt::format("{}://{}{}", scheme, lower(authority),
                                     path.empty() ? std::string_view("/") : path),
                 .authority = lower(authority)};
}

Result<std::string> fill_http_query(const std::vector<SharedText>& names, const Json& input) {
  std::string query;
  for (const SharedText& name : names) {
    HOLDFAST_TRY(const std::string value, scalar_field(input, name.view()));
    query += query.empty() ? '?' : '&';
    append_encoded(query, name.view());
    query += '=';
    append_encoded(query, value);
  }
  return query;
}

}  // namespace holdfast

#include "runs/steps/step_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/utf8_cut.h"
#include "net/http.h"
#include "net/http_text.h"

namespace holdfast {
namespace {

Error refused_url(std::string message) {
  return Error(ErrorCode::invalid_argument, std::move(message));
}

Result<std::string> scalar_field(const Json& input, std::string_view name) {
  const auto field = input.find(name);
  if (!field) {
    return refused_url(fmt::format("the input has no field \"{}\"", valid_utf8(name)));
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
        fmt::format("the field \"{}\" is not a string, number or boolean", valid_utf8(name)));
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
      return refused_url("the URL has an unbalanced brace");
    }
    const std::string_view name = url_template.substr(1, end - 1);
    HOLDFAST_TRY(const std::string value, scalar_field(input, name));
    // Without this, DELETE /items/{id} would be a request about all items.
    if (value.empty()) {
      return refused_url(fmt::format("the field \"{}\" is empty", valid_utf8(name)));
    }
    out += net::url_encoded(value);
    url_template.remove_prefix(end + 1);
  }
  return out;
}

// An entry without a port allows every port of the host.
bool is_allowed(const net::Url& url, const std::vector<SharedText>& allowed_hosts) {
  const std::string host = net::parse_authority(url.authority)->host;
  return std::any_of(allowed_hosts.begin(), allowed_hosts.end(), [&](const SharedText& entry) {
    const auto allowed = net::parse_authority(entry.view());
    return allowed && allowed->host == host && allowed->port.value_or(url.port) == url.port;
  });
}

// "." and "..", also written as %2e: servers and proxies resolve them.
bool is_dot_segment(std::string_view segment) {
  std::string plain = net::lowered(segment);
  for (std::size_t at = plain.find("%2e"); at != std::string::npos; at = plain.find("%2e")) {
    plain.replace(at, 3, ".");
  }
  return plain == "." || plain == "..";
}

Result<void> check_path(std::string_view path) {
  constexpr std::string_view kAllowed = "-._~/!$&'()*+,;=:@";
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = net::lower(path[i]);
    const bool escape = c == '%' && i + 2 < path.size() && net::hex_value(path[i + 1]) >= 0 &&
                        net::hex_value(path[i + 2]) >= 0;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       kAllowed.find(c) != std::string_view::npos;
    if (!escape && !plain) {
      return refused_url("the path of the URL contains a character that must be percent-encoded");
    }
  }
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t length = std::min(path.find('/'), path.size());
    if (is_dot_segment(path.substr(0, length))) {
      return refused_url("the path of the URL has a segment \".\" or \"..\"");
    }
    path.remove_prefix(length);
  }
  return {};
}

}  // namespace

Result<net::Url> fill_step_url(std::string_view url_template, const Json& input,
                               const std::vector<SharedText>& allowed_hosts) {
  HOLDFAST_TRY(const std::string text, fill(url_template, input));
  auto parsed = net::parse_url(text);
  if (!parsed.ok()) {
    return refused_url(parsed.error().message());
  }
  net::Url url = std::move(parsed).value();
  if (url.kind == net::Url::Kind::unix_socket) {
    return refused_url("the URL does not start with http:// or https://");
  }
  if (!is_allowed(url, allowed_hosts)) {
    return refused_url(fmt::format("the host \"{}\" is not in allowed_hosts", url.authority));
  }
  HOLDFAST_CHECK(check_path(url.path));
  url.path = url.path.empty() ? "/" : url.path;
  return url;
}

Result<std::string> fill_step_query(const std::vector<SharedText>& names, const Json& input) {
  std::string query;
  for (const SharedText& name : names) {
    HOLDFAST_TRY(const std::string value, scalar_field(input, name.view()));
    query += query.empty() ? '?' : '&';
    query += net::url_encoded(name.view());
    query += '=';
    query += net::url_encoded(value);
  }
  return query;
}

}  // namespace holdfast

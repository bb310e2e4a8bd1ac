#include "storage/postgres/postgres_url.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"

namespace holdfast {

namespace {

constexpr std::string_view kDefaultSchema = "holdfast";
// PostgreSQL cuts longer names off silently, and two logs would become one.
constexpr std::size_t kMaxSchemaLength = 63;

Error invalid_postgres_url(std::string message) {
  return Error{ErrorCode::invalid_url, std::move(message)};
}

bool is_schema_name(std::string_view text) {
  const auto first = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto later = [&](char c) { return first(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kMaxSchemaLength && first(text.front()) &&
         std::all_of(text.begin(), text.end(), later);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

// The parts of a PostgreSQL URL, cut as libpq cuts them. All still percent-encoded.
struct PostgresParts {
  std::optional<std::string_view> user_info;
  std::string_view hosts;
  std::string_view path;  // with its slash
  std::string_view query;
};

// Whether a query is the rest of a password that holds a / and a ?: only names and passwords may
// have an @ that is not encoded.
bool has_stray_at(std::string_view query) {
  const std::vector<std::string_view> parameters = split(query, '&');
  return std::any_of(parameters.begin(), parameters.end(), [](std::string_view parameter) {
    const std::string_view name = parameter.substr(0, parameter.find('='));
    return parameter.find('@') != std::string_view::npos && name != "user" && name != "password" &&
           name != "sslpassword";
  });
}

Result<PostgresParts> cut(std::string_view rest) {
  PostgresParts parts;
  const std::size_t user_end = rest.find_first_of("@/");
  if (user_end != std::string_view::npos && rest[user_end] == '@') {
    parts.user_info = rest.substr(0, user_end);
    rest.remove_prefix(user_end + 1);
  }
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    parts.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  parts.hosts = rest.substr(0, slash);
  parts.path = rest.substr(slash);
  // Otherwise a piece of the password would be taken for a host, a port or a database, and
  // would then stand in messages.
  if (rest.find('@') != std::string_view::npos || has_stray_at(parts.query) ||
      (parts.user_info.has_value() && parts.user_info->find('?') != std::string_view::npos)) {
    return invalid_postgres_url(
        "the characters @ : / ? in a user name, a password or a database name must be "
        "percent-encoded (@ is %40, : is %3A, / is %2F, ? is %3F)");
  }
  return parts;
}

// "host", "host:port", "[ipv6]:port", any of them several times with commas, or nothing.
Result<void> check_ports(std::string_view hosts) {
  for (std::string_view host : split(hosts, ',')) {
    if (host.starts_with('[')) {
      host.remove_prefix(std::min(host.find(']'), host.size()));
    }
    const std::size_t colon = host.find(':');
    if (colon == std::string_view::npos || colon + 1 == host.size()) {
      continue;
    }
    const auto port = parse_decimal(host.substr(colon + 1));
    // The text is not repeated: in "user:password/db" it is a password.
    if (!port.has_value() || *port == 0 || *port > 65535) {
      return invalid_postgres_url("the port in the PostgreSQL URL is not a number from 1 to 65535");
    }
  }
  return {};
}

// Takes our own parameters out of the query; returns the others.
Result<std::string> take_parameters(std::string_view query, PostgresUrl& url) {
  std::string others;
  for (const std::string_view parameter : split(query, '&')) {
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view name = parameter.substr(0, equals);
    const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
    if (name == "schema") {
      if (!is_schema_name(value)) {
        return invalid_postgres_url(
            "schema=" + std::string(value) +
            " is not a schema name: small letters, digits and _, not beginning with "
            "a digit, at most 63 characters");
      }
      if (value.starts_with("pg_")) {
        return invalid_postgres_url("schema=" + std::string(value) +
                                    ": PostgreSQL keeps names that begin with pg_ to itself");
      }
      url.schema = value;
    } else if (name == "allow_fsync_off") {
      if (value != "1" && value != "0") {
        return invalid_postgres_url("allow_fsync_off must be 1 or 0");
      }
      url.allow_fsync_off = value == "1";
    } else if (!parameter.empty()) {
      others += (others.empty() ? "" : "&") + std::string(parameter);
    }
  }
  return others;
}

// "?host=a,b" is another way to name several servers.
bool parameter_has_comma(std::string_view query, std::string_view wanted) {
  const std::vector<std::string_view> parameters = split(query, '&');
  return std::any_of(parameters.begin(), parameters.end(), [&](std::string_view parameter) {
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view value = parameter.substr(equals);
    return parameter.substr(0, equals) == wanted && (value.find(',') != std::string_view::npos ||
                                                     value.find("%2C") != std::string_view::npos ||
                                                     value.find("%2c") != std::string_view::npos);
  });
}

}  // namespace

Result<PostgresUrl> parse_postgres_url(std::string_view rest) {
  HOLDFAST_TRY(const PostgresParts parts, cut(rest));
  HOLDFAST_CHECK(check_ports(parts.hosts));
  PostgresUrl url;
  url.schema = kDefaultSchema;
  HOLDFAST_TRY(const std::string others, take_parameters(parts.query, url));

  url.connection = "postgresql://";
  url.shown = "postgres://";
  if (parts.user_info.has_value()) {
    url.connection += std::string(*parts.user_info) + "@";
    const std::string_view user = parts.user_info->substr(0, parts.user_info->find(':'));
    url.shown += user.empty() ? "" : std::string(user) + "@";
  }
  url.several_hosts = parts.hosts.find(',') != std::string_view::npos ||
                      parameter_has_comma(others, "host") ||
                      parameter_has_comma(others, "hostaddr");
  const std::string target = std::string(parts.hosts) + std::string(parts.path);
  url.connection += target + (others.empty() ? "" : "?" + others);
  url.shown += target + "?schema=" + url.schema;
  return url;
}

}  // namespace holdfast

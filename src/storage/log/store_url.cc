#include "storage/log/store_url.h"

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::string_view kForms =
    "a store URL is memory:, sqlite:PATH or "
    "postgres://[user[:password]@]host[:port][,host[:port]...]/database[?schema=NAME]";

Error invalid(std::string message) { return Error{ErrorCode::invalid_url, std::move(message)}; }

bool is_scheme(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto later = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), later);
}

Error no_scheme(std::string_view url) {
  if (url.empty()) {
    return invalid("the store URL is empty: " + std::string(kForms));
  }
  // May be a connection string in libpq's other notation, with a password in it: not repeated.
  if (url.find('=') != std::string_view::npos || url.find('@') != std::string_view::npos) {
    return invalid("this is not a store URL: " + std::string(kForms));
  }
  return invalid("\"" + std::string(url) +
                 "\" has no scheme: for a SQLite file write sqlite:" + std::string(url));
}

Result<StoreUrl> parse_sqlite(std::string_view path) {
  if (path.empty()) {
    return invalid("sqlite: needs the path of a file, as in sqlite:journal.db");
  }
  if (path.starts_with("//")) {
    const std::size_t begin = path.find_first_not_of('/');
    const std::string rest(begin == std::string_view::npos ? "journal.db" : path.substr(begin));
    return invalid("sqlite: is followed by the path itself, without //: write sqlite:" + rest +
                   " (a relative path) or sqlite:/" + rest + " (an absolute one)");
  }
  return StoreUrl(SqliteUrl{std::string(path)});
}

}  // namespace

Result<StoreUrl> parse_store_url(std::string_view url) {
  if (url.find('\0') != std::string_view::npos) {
    return invalid("a store URL cannot hold a zero byte");
  }
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos || !is_scheme(url.substr(0, colon))) {
    return no_scheme(url);
  }
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view rest = url.substr(colon + 1);
  if (scheme == "memory") {
    if (!rest.empty()) {
      return invalid("nothing may follow memory:");
    }
    return StoreUrl(MemoryUrl{});
  }
  if (scheme == "sqlite") {
    return parse_sqlite(rest);
  }
  if (scheme == "postgres" || scheme == "postgresql") {
    if (!rest.starts_with("//")) {
      return invalid("a PostgreSQL URL begins with " + std::string(scheme) + "://");
    }
    HOLDFAST_TRY(PostgresUrl postgres, parse_postgres_url(rest.substr(2)));
    return StoreUrl(std::move(postgres));
  }
  return invalid("unknown scheme " + std::string(scheme) + ":; " + std::string(kForms));
}

}  // namespace holdfast

// The names that users type: stores, points in time, runs, pages of a list, URLs of steps. The
// first byte selects.
#include <algorithm>

#include "fuzz/memory_journal.h"
#include "runs/inspect/moment.h"
#include "runs/inspect/run_list.h"
#include "runs/language/data/iso8601.h"
#include "runs/language/definition/duration.h"
#include "runs/steps/step_url.h"
#include "storage/log/store_url.h"

namespace holdfast::fuzz::store_url_fuzz {
namespace {

constexpr std::string_view kSecret = "kEepThiSsEcreT";

void check_url(std::string_view text) {
  const auto url = parse_store_url(text);
  if (!url.ok()) {
    require(url.error().code() == ErrorCode::invalid_url && !url.error().message().empty(),
            "a rejected URL has a reason");
    return;
  }
  if (const auto* sqlite = std::get_if<SqliteUrl>(&url.value())) {
    require(!sqlite->path.empty() && text == "sqlite:" + sqlite->path, "a path stays as it is");
  }
  if (const auto* postgres = std::get_if<PostgresUrl>(&url.value())) {
    require(!postgres->schema.empty() && postgres->schema.size() <= 63, "a schema has a name");
    require(postgres->connection.starts_with("postgresql://"), "a connection is a URL");
    const auto again = parse_store_url(postgres->connection);
    require(again.ok() && std::get<PostgresUrl>(again.value()).connection == postgres->connection,
            "the URL for libpq is a store URL");
  }
}

// A secret in the password is never shown, whatever surrounds it.
void check_password(std::string_view before, std::string_view after) {
  const std::string url = "postgres://user:" + std::string(before) + std::string(kSecret) +
                          std::string(after) + "@host/database";
  // A part that looks like a parameter of libpq is one.
  if (url.find("password=") != std::string::npos || url.find("user=") != std::string::npos) {
    return;
  }
  const auto parsed = parse_store_url(url);
  const auto* postgres = parsed.ok() ? std::get_if<PostgresUrl>(&parsed.value()) : nullptr;
  require(parsed.ok() || parsed.error().json().find(kSecret) == std::string::npos,
          "an error does not contain the password");
  require(postgres == nullptr || postgres->shown.find(kSecret) == std::string::npos,
          "the shown URL does not contain the password");
}

std::shared_ptr<MemoryDisk> listed_runs() {
  return fuzz::disk_with(
      {R"([{"thread":"run_catalog:all","seq":0,"kind":"run_cataloged","at":1700000000000,)"
       R"("data":{"run_id":"0192aaaa-0000-7000-8000-000000000001","workflow":"a","queue":"q"}}])",
       R"([{"thread":"run_catalog:all","seq":1,"kind":"run_cataloged","at":1700000001000,)"
       R"("data":{"run_id":"0192bbbb-0000-7000-8000-000000000002","workflow":"a","queue":"q"}}])"});
}

void check_moment(std::string_view text) {
  if (const auto time = parse_iso8601(text)) {
    const std::string written = iso8601_time(*time);
    // An offset can lead beyond four-digit years, which cannot be parsed.
    const bool readable = written.size() == 24 && written.front() != '-';
    require(!readable || parse_iso8601(written) == time, "a time is read as written");
    require(!parse_duration(text).has_value(), "a time is not a duration");
  }
  const auto at = At::parse(text);
  if (!at.ok()) {
    require(at.error().code() == ErrorCode::invalid_argument, "no point in time is refused");
    return;
  }
  const auto journal = fuzz::must(Journal::open(fuzz::open_log(listed_runs())));
  const auto moment = find_moment(*journal, at.value(), fuzz::kNow);
  require(moment.ok() || moment.error().code() == ErrorCode::invalid_argument,
          "an unknown point is refused");
  require(
      !moment.ok() || (moment.value().position <= Position{2} && moment.value().now <= fuzz::kNow),
      "a point in time is not after the end");
}

void check_list(std::string_view text) {
  const auto journal = fuzz::must(Journal::open(fuzz::open_log(listed_runs())));
  const Moment moment{Position{2}, fuzz::kNow};
  RunListQuery query;
  query.limit = 1;
  const auto first = list_runs(*journal, query, moment);
  require(first.ok() && first.value().rows.size() == 1 && !first.value().next.empty(),
          "a list has pages");
  // With its signature, the number of a cursor can be anything.
  const std::string signature = first.value().next.substr(0, first.value().next.find('-'));
  for (const std::string& cursor : {std::string(text), signature + "-" + std::string(text)}) {
    query.cursor = cursor;
    const auto page = list_runs(*journal, query, moment);
    require(page.ok() ? page.value().rows.size() <= 1
                      : page.error().code() == ErrorCode::invalid_argument,
            "a cursor leads to a page or is refused");
  }
  const auto run = find_run(*journal, text, moment);
  require(run.ok() || run.error().code() == ErrorCode::run_not_found ||
              run.error().code() == ErrorCode::invalid_argument,
          "a run is found or not");
}

// A template, then the values: they must not lead to another host or folder.
void check_http(std::string_view text) {
  const std::string_view url_template = fuzz::take_line(text);
  const auto input = Json::parse(text);
  if (!input.ok()) {
    return;
  }
  const auto url = fill_step_url(url_template, input.value(), {"api.test", "[::1]:8080"});
  if (!url.ok()) {
    require(url.error().code() == ErrorCode::invalid_argument, "a URL is refused");
    return;
  }
  const std::string filled = url.value().origin() + url.value().path;
  const std::string& authority = url.value().authority;
  require(
      authority == "api.test" || authority.starts_with("api.test:") || authority == "[::1]:8080",
      "only allowed hosts are used");
  require(filled.starts_with("http://" + authority + "/") ||
              filled.starts_with("https://" + authority + "/"),
          "a URL is of its host");
  require(filled.find_first_of("?#\\ \r\n") == std::string::npos, "a URL has nothing else in it");
  std::string plain;  // a name between braces may contain slashes
  bool inside = false;
  for (const char c : url_template) {
    inside = c == '{' || (inside && c != '}');
    plain += inside ? "" : std::string(1, c);
  }
  const auto slashes = std::count(plain.begin(), plain.end(), '/');
  require(std::count(filled.begin(), filled.end(), '/') == std::max<std::ptrdiff_t>(slashes, 3),
          "values add no folders");
}

void check(std::string_view input) {
  switch (fuzz::take_choice(input)) {
    case 'u':
      check_url(input);
      break;
    case 'p': {
      const std::string_view before = fuzz::take_line(input);
      check_password(before, input);
      break;
    }
    case 'm':
      check_moment(input);
      break;
    case 'l':
      check_list(input);
      break;
    default:
      check_http(input);
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(store_url, check)

}  // namespace holdfast::fuzz::store_url_fuzz

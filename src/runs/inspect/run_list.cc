#include "runs/inspect/run_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/encoding.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/text.h"

namespace holdfast {

namespace {

constexpr std::size_t kMinPartOfId = 4;
constexpr std::size_t kWindow = 256;
constexpr std::size_t kQuerySignature = 8;

Error bad_query(std::string_view field, std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message)}.with("field", field);
}

// What ties a cursor to its query.
std::string signature_of(const RunListQuery& query) {
  const std::string text = query.filter.text() + (query.newest_first ? "n" : "o");
  return to_hex(sha256(text)).substr(0, kQuerySignature);
}

std::string cursor_of(const RunListQuery& query, std::uint64_t at) {
  return fmt::format("{}-{}", signature_of(query), at);
}

Result<std::uint64_t> place_of(const RunListQuery& query, std::uint64_t revision) {
  if (query.cursor.empty()) {
    return query.newest_first ? revision : 0;
  }
  const std::string_view cursor = query.cursor;
  const std::size_t dash = cursor.find('-');
  const auto at =
      dash == std::string_view::npos ? std::nullopt : parse_decimal(cursor.substr(dash + 1));
  const std::string_view signature = cursor.substr(0, dash);
  const bool ours = at.has_value() && signature.size() == kQuerySignature &&
                    signature.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (ours && signature != signature_of(query)) {
    return bad_query("cursor", "the cursor belongs to a list with other filters")
        .with("reason", "query_mismatch");
  }
  if (!ours || *at > revision) {
    return bad_query("cursor", "the cursor is not one that a list gave")
        .with("reason", "malformed");
  }
  return *at;
}

Result<ThreadId> thread_of(const RunFilter& filter) {
  if (filter.workflow.empty()) {
    return catalog_thread();
  }
  HOLDFAST_CHECK(check_name("workflow", filter.workflow));
  return index_thread(filter.workflow);
}

// The entries of the thread from a place on, one after the other, in the order asked for.
class Catalog {
 public:
  Catalog(Journal& journal, ThreadId thread, bool newest_first, std::uint64_t revision,
          std::uint64_t at)
      : journal_(journal),
        thread_(std::move(thread)),
        newest_first_(newest_first),
        revision_(revision),
        at_(at) {}

  // The place the next entry is taken from.
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return newest_first_ ? at_ == 0 : at_ == revision_; }

  Result<const Entry*> next() {
    const std::uint64_t seq = newest_first_ ? at_ - 1 : at_;
    if (seq < from_ || seq >= from_ + window_.size()) {
      from_ = newest_first_ ? at_ - std::min<std::uint64_t>(at_, kWindow) : at_;
      const std::uint64_t to = newest_first_ ? at_ : std::min(revision_, at_ + kWindow);
      HOLDFAST_TRY(window_, journal_.load(thread_, Revision{from_}, to - from_));
    }
    at_ = newest_first_ ? at_ - 1 : at_ + 1;
    return &window_[seq - from_];
  }

 private:
  Journal& journal_;
  ThreadId thread_;
  bool newest_first_;
  std::uint64_t revision_;
  std::uint64_t at_;
  std::uint64_t from_ = 0;
  std::vector<Entry> window_;
};

// How many entries the thread had at that moment.
Result<std::uint64_t> revision_at(Journal& journal, const ThreadId& thread, const Moment& moment) {
  HOLDFAST_TRY(const Revision now, journal.revision(thread));
  std::uint64_t low = 0;
  std::uint64_t high = now.value;
  if (high > 0) {
    HOLDFAST_TRY(const auto newest, journal.load(thread, Revision{high - 1}, 1));
    if (!newest.empty() && newest.front().position <= moment.position) {
      return high;
    }
  }
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    HOLDFAST_TRY(const auto entries, journal.load(thread, Revision{middle}, 1));
    if (!entries.empty() && entries.front().position <= moment.position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Both kinds of entries have the same fields. What is no such fact is an anomaly, no run.
std::optional<RunRow> row_of(const Entry& entry) {
  const auto listed = from_json<RunIndexed>(entry.data);
  if (!listed.ok()) {
    return std::nullopt;
  }
  RunRow row;
  row.run_id = to_string(listed.value().run_id);
  row.workflow = listed.value().workflow.str();
  row.queue = listed.value().queue.str();
  row.listed_at = entry.at;
  return row;
}

// A run without entries of its own stays new. What follows from its definition is not needed.
Result<void> fill_in_run(Journal& journal, RunRow& row, const Moment& moment, BatchCache& cache) {
  HOLDFAST_TRY(const RunId id, parse_run_id(row.run_id));
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(id), {}, SIZE_MAX, &cache));
  RunProjection run(id);
  for (const Entry& entry : entries) {
    if (entry.position <= moment.position) {
      run.fold(entry);
    }
  }
  if (run.revision() > Revision{0}) {
    fill_in(row, run);
  }
  return {};
}

}  // namespace

Result<RunRows> list_runs(Journal& journal, const RunListQuery& query, const Moment& moment) {
  if (query.limit == 0 || query.limit > kMaxListed) {
    return bad_query("limit",
                     fmt::format("a page holds 1 to {} runs, not {}", kMaxListed, query.limit));
  }
  HOLDFAST_TRY(const ThreadId thread, thread_of(query.filter));
  HOLDFAST_TRY(const std::uint64_t revision, revision_at(journal, thread, moment));
  HOLDFAST_TRY(const std::uint64_t place, place_of(query, revision));
  Catalog catalog(journal, thread, query.newest_first, revision, place);
  BatchCache cache;  // runs that are listed together were mostly carried out together
  RunRows page;
  for (std::size_t looked_at = 0; !catalog.at_end(); ++looked_at) {
    if (page.rows.size() == query.limit || looked_at == kMaxLookedAt) {
      page.next = cursor_of(query, catalog.at());
      return page;
    }
    HOLDFAST_TRY(const Entry* entry, catalog.next());
    auto row = row_of(*entry);
    if (row.has_value()) {
      HOLDFAST_CHECK(fill_in_run(journal, *row, moment, cache));
      if (query.filter.matches(*row)) {
        page.rows.push_back(*std::move(row));
      }
    }
  }
  return page;
}

JsonText to_json(const RunRows& page, const Moment& moment) {
  JsonWriter json;
  json.begin_object().key("runs").begin_array();
  for (const RunRow& row : page.rows) {
    write_json(json, row);
  }
  json.end_array();
  if (page.next.empty()) {
    json.key("next").null();
  } else {
    json.member("next", page.next);
  }
  json.key("as_of").begin_object().member("position", moment.position.value);
  json.member("time", moment.now.value).end_object().end_object();
  return std::move(json).take_text();
}

Result<RunId> find_run(Journal& journal, std::string_view part, const Moment& moment) {
  if (auto whole = parse_run_id(part); whole.ok()) {
    return whole;
  }
  const bool latest = part == "latest";
  if (!latest && part.size() < kMinPartOfId) {
    return bad_query("run_id", fmt::format("'{}' is no run id: give the whole, at least {} "
                                           "characters of its beginning or end, or latest",
                                           part, kMinPartOfId));
  }
  HOLDFAST_TRY(const std::uint64_t revision, revision_at(journal, catalog_thread(), moment));
  Catalog catalog(journal, catalog_thread(), true, revision, revision);
  BatchCache cache;
  std::optional<std::string> found;
  while (!catalog.at_end()) {
    HOLDFAST_TRY(const Entry* entry, catalog.next());
    auto row = row_of(*entry);
    if (!row.has_value() ||
        (!latest && !row->run_id.starts_with(part) && !row->run_id.ends_with(part))) {
      continue;
    }
    if (latest) {
      // What somebody started, not what that started in turn.
      HOLDFAST_CHECK(fill_in_run(journal, *row, moment, cache));
      if (!row->parent.empty()) {
        continue;
      }
      return parse_run_id(row->run_id);
    }
    if (found.has_value() && *found != row->run_id) {
      return bad_query("run_id", fmt::format("'{}' may be run {} or run {}: give more of its id",
                                             part, *found, row->run_id));
    }
    found = row->run_id;
  }
  if (!found.has_value()) {
    return Error{ErrorCode::run_not_found,
                 latest ? std::string("there is no run yet")
                        : fmt::format("there is no run whose id begins or ends with '{}'", part)}
        .with("run_id", part);
  }
  return parse_run_id(*found);
}

}  // namespace holdfast

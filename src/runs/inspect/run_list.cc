#include "runs/inspect/run_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/encoding.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/text.h"
#include "runs/engine/stored_row.h"

namespace holdfast {

namespace {

constexpr std::size_t kMinPartOfId = 4;
constexpr std::size_t kWindow = 256;
constexpr std::size_t kLatestWindow = 4;
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
    return bad_query("cursor", "the cursor was not returned by a list").with("reason", "malformed");
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

RunRow row_of(const RunIndexed& listed, TimeMs at) {
  RunRow row;
  row.run_id = to_string(listed.run_id);
  row.workflow = listed.workflow.str();
  row.queue = listed.queue.str();
  row.listed_at = at;
  return row;
}

// Caches that cannot be read are none: what is wrong with the store shows when the log is read.
std::vector<std::optional<Checkpoint>> find_rows(Journal& journal,
                                                 const std::vector<ThreadId>& names) {
  if (names.empty()) {
    return {};
  }
  auto found = journal.find_current_checkpoints(names, kStoredRowVersion);
  return found.ok() ? std::move(found).value()
                    : std::vector<std::optional<Checkpoint>>(names.size());
}

template <typename T>
std::optional<T> read_as(const std::optional<Checkpoint>& stored) {
  auto value = from_json<T>(stored.has_value() ? stored->data : "");
  return value.ok() ? std::optional(std::move(value).value()) : std::nullopt;
}

// False when there is no row, or it knows more than there was at that moment.
bool fill_in_from(const std::optional<Checkpoint>& stored, const Moment& moment, RunRow& row) {
  auto found = read_as<StoredRow>(stored);
  if (!found.has_value() || found->position > moment.position.value) {
    return false;
  }
  RunRow& known = found->row;
  known.run_id = std::move(row.run_id);
  known.workflow = std::move(row.workflow);
  known.queue = std::move(row.queue);
  known.listed_at = row.listed_at;
  row = std::move(known);
  return true;
}

// A run without entries of its own stays new. What follows from its definition is not needed.
Result<void> fold_in(Journal& journal, RunRow& row, const Moment& moment, BatchCache& cache) {
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

// A thread that lists runs, as of a moment.
struct ListThread {
  ThreadId thread;
  std::uint64_t revision = 0;
  std::uint64_t sealed = 0;  // entries before this one are cheap to read

  static Result<ListThread> open(Journal& journal, ThreadId thread, const Moment& moment);
};

// The rows of the thread from a cursor on, one after the other, in the requested order. They are
// read in windows; the first has the given size.
class Catalog {
 public:
  Catalog(Journal& journal, ListThread list, const Moment& moment, bool newest_first,
          std::uint64_t at, std::size_t first_window)
      : journal_(journal),
        list_(std::move(list)),
        moment_(moment),
        newest_first_(newest_first),
        at_(at),
        window_size_(std::min(first_window, kWindow)) {}

  // The place the next row is taken from.
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return newest_first_ ? at_ == 0 : at_ == list_.revision; }

  // Only what the thread records of the run. Empty when the entry is not such a fact: an anomaly.
  Result<std::optional<RunRow>> next() {
    const std::uint64_t seq = newest_first_ ? at_ - 1 : at_;
    if (seq < from_ || seq >= from_ + window_.size()) {
      HOLDFAST_CHECK(read_window());
    }
    at_ = newest_first_ ? at_ - 1 : at_ + 1;
    current_ = seq - from_;
    return window_[current_];
  }
  // The rest, of the row that was taken last.
  Result<void> fill_in(RunRow& row) {
    if (stored_.empty()) {
      std::vector<ThreadId> names;
      for (const auto& listed : window_) {
        const auto id = parse_run_id(listed.has_value() ? listed->run_id : "");
        names.push_back(run_thread(id.ok() ? id.value() : RunId{}));
      }
      stored_ = find_rows(journal_, names);
    }
    return fill_in_from(stored_[current_], moment_, row) ? Result<void>()
                                                         : fold_in(journal_, row, moment_, cache_);
  }

 private:
  Result<void> read_window() {
    from_ = newest_first_ ? at_ - std::min<std::uint64_t>(at_, window_size_) : at_;
    const std::uint64_t to =
        newest_first_ ? at_ : std::min<std::uint64_t>(list_.revision, at_ + window_size_);
    window_size_ = kWindow;
    window_.clear();
    stored_.clear();
    HOLDFAST_CHECK(read_entries(std::min(to, list_.sealed)));
    // Entries in large batches have a copy beside the log.
    const std::uint64_t unsealed = from_ + window_.size();
    std::vector<ThreadId> names;
    for (std::uint64_t seq = unsealed; seq < to; ++seq) {
      names.push_back(listing_name(list_.thread, seq));
    }
    const auto copies = find_rows(journal_, names);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (const auto listed = read_as<StoredListing>(copies[i])) {
        HOLDFAST_CHECK(read_entries(unsealed + i));
        window_.emplace_back(row_of(listed->run, listed->at));
      }
    }
    return read_entries(to);
  }
  // Continues the window up to there from the log.
  Result<void> read_entries(std::uint64_t to) {
    const std::uint64_t from = from_ + window_.size();
    if (from >= to) {
      return {};
    }
    HOLDFAST_TRY(const auto entries, journal_.load(list_.thread, Revision{from}, to - from));
    for (const Entry& entry : entries) {
      // Both kinds of entries have the same fields.
      const auto listed = from_json<RunIndexed>(entry.data);
      window_.push_back(listed.ok() ? std::optional(row_of(listed.value(), entry.at))
                                    : std::nullopt);
    }
    return {};
  }

  Journal& journal_;
  ListThread list_;
  Moment moment_;
  bool newest_first_;
  std::uint64_t at_;
  std::size_t window_size_;
  std::uint64_t from_ = 0;
  std::vector<std::optional<RunRow>> window_;
  std::vector<std::optional<Checkpoint>> stored_;  // of the window, once one is wanted
  std::size_t current_ = 0;
  BatchCache cache_;  // runs that are listed together were mostly carried out together
};

// How many entries the thread had at that moment, by looking at them.
Result<std::uint64_t> search_revision(Journal& journal, const ThreadId& thread, std::uint64_t now,
                                      const Moment& moment) {
  std::uint64_t low = 0;
  std::uint64_t high = now;
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

// The journal knows where the newest entries are without reading them.
Result<ListThread> ListThread::open(Journal& journal, ThreadId thread, const Moment& moment) {
  HOLDFAST_TRY(const ThreadState state, journal.state_of(thread));
  ListThread list{std::move(thread), 0, state.sealed.value};
  const auto later = std::partition_point(
      state.batches.begin(), state.batches.end(),
      [&](const ThreadBatch& place) { return place.position <= moment.position; });
  if (later == state.batches.begin()) {
    HOLDFAST_TRY(list.revision, search_revision(journal, list.thread, state.durable.value, moment));
  } else {
    list.revision = later == state.batches.end() ? state.durable.value : later->first.value;
  }
  return list;
}

}  // namespace

Result<RunRows> list_runs(Journal& journal, const RunListQuery& query, const Moment& moment) {
  if (query.limit == 0 || query.limit > kMaxListed) {
    return bad_query("limit", fmt::format(R"(limit must be a number from 1 to {}, not "{}")",
                                          kMaxListed, query.limit));
  }
  HOLDFAST_TRY(ThreadId thread, thread_of(query.filter));
  HOLDFAST_TRY(ListThread list, ListThread::open(journal, std::move(thread), moment));
  HOLDFAST_TRY(const std::uint64_t place, place_of(query, list.revision));
  Catalog catalog(journal, std::move(list), moment, query.newest_first, place, query.limit);
  RunRows page;
  for (std::size_t looked_at = 0; !catalog.at_end(); ++looked_at) {
    if (page.rows.size() == query.limit || looked_at == kMaxLookedAt) {
      page.next = cursor_of(query, catalog.at());
      return page;
    }
    HOLDFAST_TRY(auto row, catalog.next());
    if (row.has_value()) {
      HOLDFAST_CHECK(catalog.fill_in(*row));
      if (query.filter.matches(*row)) {
        page.rows.push_back(*std::move(row));
      }
    }
  }
  return page;
}

JsonText to_json(const RunRows& page, const Moment& moment) {
  JsonWriter json;
  json.begin_object();
  json.list("runs", page.rows, [&](const RunRow& row) { write_json(json, row); });
  if (page.next.empty()) {
    json.key("next").null();
  } else {
    json.member("next", page.next);
  }
  write_moment(json, "as_of", moment);
  return std::move(json.end_object()).take_text();
}

Result<RunId> find_run(Journal& journal, std::string_view part, const Moment& moment) {
  if (auto whole = parse_run_id(part); whole.ok()) {
    return whole;
  }
  const bool latest = part == "latest";
  if (!latest && part.size() < kMinPartOfId) {
    return bad_query("run_id", fmt::format("'{}' is not a run id: use the whole id, at least {} "
                                           "characters of its beginning or end, or latest",
                                           part, kMinPartOfId));
  }
  HOLDFAST_TRY(ListThread list, ListThread::open(journal, catalog_thread(), moment));
  const std::uint64_t newest = list.revision;
  Catalog catalog(journal, std::move(list), moment, true, newest, latest ? kLatestWindow : kWindow);
  std::optional<std::string> found;
  while (!catalog.at_end()) {
    HOLDFAST_TRY(auto row, catalog.next());
    if (!row.has_value() ||
        (!latest && !row->run_id.starts_with(part) && !row->run_id.ends_with(part))) {
      continue;
    }
    if (latest) {
      // What was started from outside, not what that started in turn.
      HOLDFAST_CHECK(catalog.fill_in(*row));
      if (!row->parent.empty()) {
        continue;
      }
      return parse_run_id(row->run_id);
    }
    if (found.has_value() && *found != row->run_id) {
      return bad_query("run_id",
                       fmt::format("'{}' is ambiguous, run {} or run {}: give more of the id", part,
                                   *found, row->run_id));
    }
    found = row->run_id;
  }
  if (!found.has_value()) {
    return Error{ErrorCode::run_not_found,
                 latest ? std::string("no run has been started yet")
                        : fmt::format("no run id begins or ends with '{}'", part)}
        .with("run_id", part);
  }
  return parse_run_id(*found);
}

}  // namespace holdfast

#include "embed/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "engine/stored_run.h"

namespace holdfast {

namespace {

// Revisions [from, to) of the thread.
struct Window {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

Result<Window> window_of(const ListOptions& options, std::uint64_t revision) {
  if (options.limit == 0 || options.limit > kMaxListed) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("a page holds 1 to {} runs, not {}", kMaxListed, options.limit)}
        .with("field", "limit");
  }
  const bool newest_first = options.order == ListOrder::newest_first;
  std::uint64_t at = newest_first ? revision : 0;
  if (!options.cursor.empty()) {
    const auto cursor = parse_decimal(options.cursor);
    if (!cursor.has_value() || *cursor > revision) {
      return Error{ErrorCode::invalid_argument, "the cursor is not one of this list"}.with(
          "field", "cursor");
    }
    at = *cursor;
  }
  if (newest_first) {
    return Window{at - std::min<std::uint64_t>(at, options.limit), at};
  }
  return Window{at, std::min<std::uint64_t>(revision, at + options.limit)};
}

Result<ThreadId> thread_of(const ListOptions& options) {
  if (options.workflow.empty()) {
    return catalog_thread();
  }
  HOLDFAST_CHECK(check_name("workflow", options.workflow));
  return index_thread(options.workflow);
}

// A run without entries of its own is new; so is what cannot be read as an id.
Result<void> fill_in_status(Loop& loop, std::vector<RunSummary>& runs) {
  using Statuses = std::map<std::string, RunStatus>;
  HOLDFAST_TRY(Statuses known, loop.ask<Statuses>([&runs](Turn& turn) -> Result<Statuses> {
    Statuses live;
    for (const RunSummary& run : runs) {
      HOLDFAST_TRY(const RunId id, parse_run_id(run.run_id));
      if (turn.state().is_live(id)) {
        HOLDFAST_TRY(const RunProjection* projection, turn.state().run(id));
        live[run.run_id] = projection->status();
      }
    }
    return live;
  }));
  for (RunSummary& run : runs) {
    RunStatus status = RunStatus::created;
    if (const auto live = known.find(run.run_id); live != known.end()) {
      status = live->second;
    } else {
      HOLDFAST_TRY(const RunId id, parse_run_id(run.run_id));
      auto stored = read_run_thread(loop.journal(), id);
      if (stored.ok()) {
        status = stored.value().run->status();
      } else if (stored.error().code() != ErrorCode::run_not_found) {
        return std::move(stored).error();
      }
    }
    run.status = to_text(status);
    run.terminal = status >= RunStatus::completed;
  }
  return {};
}

}  // namespace

Result<RunPage> list_runs(Loop& loop, const ListOptions& options) {
  HOLDFAST_TRY(const ThreadId thread, thread_of(options));
  HOLDFAST_TRY(const Position head, loop.journal().catch_up());
  static_cast<void>(head);
  HOLDFAST_TRY(const Revision revision, loop.journal().revision(thread));
  HOLDFAST_TRY(const Window window, window_of(options, revision.value));
  RunPage page;
  if (window.from == window.to) {
    return page;
  }
  HOLDFAST_TRY(const auto entries,
               loop.journal().load(thread, Revision{window.from}, window.to - window.from));
  for (const Entry& entry : entries) {
    // Both kinds have the same fields. What is no such fact is an anomaly of the fold, no run.
    const auto listed = from_json<RunIndexed>(entry.data);
    if (listed.ok()) {
      page.runs.push_back({to_string(listed.value().run_id),
                           listed.value().workflow.str(),
                           listed.value().queue.str(),
                           {},
                           false,
                           entry.at.value});
    }
  }
  if (options.order == ListOrder::newest_first) {
    std::reverse(page.runs.begin(), page.runs.end());
    page.next = window.from > 0 ? std::to_string(window.from) : "";
  } else {
    page.next = window.to < revision.value ? std::to_string(window.to) : "";
  }
  HOLDFAST_CHECK(fill_in_status(loop, page.runs));
  return page;
}

}  // namespace holdfast

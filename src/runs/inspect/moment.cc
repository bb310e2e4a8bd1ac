#include "runs/inspect/moment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "runs/language/data/iso8601.h"
#include "runs/language/definition/duration.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

namespace {

constexpr std::uint64_t kMaxAgeMs = 100ULL * 366 * 24 * 3600 * 1000;

Error bad_moment(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message)}.with("field", "at");
}

// When the batch was made, as its writer's clock said.
Result<TimeMs> time_of(Journal& journal, Position position) {
  History history(journal.log(), position);
  HOLDFAST_TRY(const auto batches, history.next());
  HOLDFAST_ASSERT(!batches.empty());
  TimeMs newest;
  BodyScanner scanner(position, batches.front().body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      return newest;
    }
    newest = std::max(newest, entry->at);
  }
}

// The newest batch that was made by then. Clocks of several writers may differ a little: then any
// of the batches around that time may be taken for it.
Result<Position> newest_by(Journal& journal, Position head, TimeMs time) {
  std::uint64_t low = 0;
  std::uint64_t high = head.value;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    HOLDFAST_TRY(const TimeMs made, time_of(journal, Position{middle}));
    if (made <= time) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return Position{low};
}

Result<Moment> at_position(Journal& journal, Position head, std::uint64_t position) {
  if (position > head.value) {
    return bad_moment(
        fmt::format("the log has no position {} yet: the newest is {}", position, head.value));
  }
  if (position == 0) {
    return Moment{};
  }
  HOLDFAST_TRY(const TimeMs made, time_of(journal, Position{position}));
  return Moment{Position{position}, made};
}

Result<Moment> at_revision(Journal& journal, Position head, const RunId& run,
                           std::uint64_t revision) {
  HOLDFAST_TRY(
      const auto entries,
      journal.load(run_thread(run), Revision{std::max<std::uint64_t>(revision, 1) - 1}, 1));
  if (entries.empty() || revision == 0) {
    HOLDFAST_TRY(const Revision newest, journal.revision(run_thread(run)));
    return bad_moment(fmt::format("run {} has no revision {}: it has 1 to {}", to_string(run),
                                  revision, newest.value));
  }
  return at_position(journal, head, entries.front().position.value);
}

}  // namespace

void write_moment(JsonWriter& json, std::string_view name, const Moment& moment) {
  json.object(name,
              [&] { json.member("position", moment.position.value).member("time", moment.now); });
}

Result<At> At::parse(std::string_view text) {
  if (text.empty() || text == "now") {
    return At{};
  }
  if (const auto position = parse_decimal(text)) {
    return At{Kind::position, *position};
  }
  if (text.starts_with('r')) {
    if (const auto revision = parse_decimal(text.substr(1))) {
      return At{Kind::run_revision, *revision};
    }
  }
  if (const auto time = parse_iso8601(text)) {
    return At{Kind::time, 0, *time};
  }
  if (const auto ago = parse_duration(text); ago.has_value() && *ago <= kMaxAgeMs) {
    return At{Kind::ago, *ago};
  }
  return bad_moment(
      fmt::format("'{}' is not a point in time: use a log position (123), a revision of the run "
                  "(r5), a time (2026-11-16T14:02:00Z) or an age (10m)",
                  text));
}

Result<Moment> find_moment(Journal& journal, const At& at, TimeMs now,
                           const std::optional<RunId>& run) {
  HOLDFAST_TRY(const Position head, journal.catch_up());
  switch (at.kind) {
    case At::Kind::now:
      return Moment{head, now};
    case At::Kind::position:
      return at_position(journal, head, at.number);
    case At::Kind::run_revision:
      return run.has_value() ? at_revision(journal, head, *run, at.number)
                             : bad_moment("only a run has revisions: use a position or a time");
    case At::Kind::time:
    case At::Kind::ago:
      break;
  }
  const TimeMs time = at.kind == At::Kind::time
                          ? at.time
                          : TimeMs{now.value - static_cast<std::int64_t>(at.number)};
  if (time > now) {
    return bad_moment(
        fmt::format("{} is in the future: the time is {}", format_time(time), format_time(now)));
  }
  HOLDFAST_TRY(const Position position, newest_by(journal, head, time));
  return Moment{position, time};
}

}  // namespace holdfast

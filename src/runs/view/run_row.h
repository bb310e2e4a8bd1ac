// RunRow: one row of a list of runs. Says what a run is, not what it holds.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/json_writer.h"
#include "runs/run/run_projection.h"

namespace holdfast {

struct RunRow {
  std::string run_id;
  std::string workflow;
  std::string queue = {};
  std::string version = {};
  std::string status = "new";
  bool terminal = false;
  bool archived = false;
  TimeMs listed_at = {};
  std::optional<TimeMs> started_at = std::nullopt;
  std::optional<TimeMs> ended_at = std::nullopt;
  std::string waits_at = {};  // the step at which it waits for an operator
  std::string error = {};     // of a failed run or the parked step, one line
  std::string parent = {};
  std::string replayed_from = {};
  std::map<std::string, Payload> attributes = {};
  std::uint64_t revision = 0;
  std::uint64_t anomalies = 0;
};

// What the projection knows, into a row that has the rest.
void fill_in(RunRow& row, const RunProjection& run);
void write_json(JsonWriter& json, const RunRow& row);

// invalid_argument when it is not a status of a run; the message lists them all.
Result<void> check_run_status(std::string_view status);

// Which runs a list shows. A run must match everything that is set.
struct RunFilter {
  std::string workflow = {};
  std::set<std::string> statuses = {};
  std::optional<TimeMs> started_from = std::nullopt;  // at or after
  std::optional<TimeMs> started_before = std::nullopt;
  std::map<std::string, std::string> attributes = {};  // name to canonical JSON
  bool archived = false;                               // also archived runs

  // Statuses, and attributes as a JSON object; empty: any. invalid_argument.
  Result<void> select(std::span<const std::string> wanted_statuses, std::string_view wanted);
  [[nodiscard]] bool matches(const RunRow& row) const;
  // The same text for the same filter: a cursor is valid for one filter only.
  [[nodiscard]] std::string text() const;
};

}  // namespace holdfast

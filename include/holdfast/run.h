// Runs as programs see them: how one is started, what it looks like, how they are listed.
// Ids are UUIDs as text, payloads are JSON texts, times are milliseconds since 1970 (UTC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

struct StartOptions {
  // At most one of these two. A run id of the caller's own; or any text, for which there is one
  // run of the workflow however often it is started.
  std::string run_id = {};
  std::string idempotency_key = {};
  std::string queue = {};              // empty: the default
  std::string trigger = {};            // empty: manual
  std::string search_attributes = {};  // a JSON object
  std::string actor = {};              // who started it, for the record
  std::string comment = {};
};

struct StartedRun {
  std::string run_id;
  bool existed = false;  // the same run was started before
};

struct CancelOptions {
  std::string actor = {};
  std::string comment = {};
  std::string idempotency_key = {};
};

struct StepView {
  std::string name;
  // waiting (for other steps), planned, scheduled (for later), ready, running, completed, failed;
  // abandoned when the run ended before.
  std::string status;
  std::uint32_t attempts = 0;
  std::string result = {};  // of a completed step
  std::string error = {};   // of the newest failed attempt
};

struct RunView {
  std::string run_id;
  std::string workflow;
  std::string version;
  std::string queue;
  // new, started, running, idle, paused, completed, failed, cancelled, continued
  std::string status;
  bool terminal = false;
  std::int64_t started_at_ms = 0;
  std::int64_t ended_at_ms = 0;  // 0: it has not
  std::string input;
  std::string context;             // the input and all results, merged
  std::string error = {};          // of a failed run: {"code","message",...}
  std::string parent_run_id = {};  // of a child
  std::vector<std::string> children = {};
  std::vector<StepView> steps = {};
  std::string json = {};  // the whole snapshot, with attempts, plans, anomalies and revisions
};

struct RunSummary {
  std::string run_id;
  std::string workflow;
  std::string queue;
  std::string status;
  bool terminal = false;
  std::int64_t listed_at_ms = 0;
};

enum class ListOrder : std::uint8_t { newest_first, oldest_first };

struct ListOptions {
  std::string workflow = {};  // empty: all
  ListOrder order = ListOrder::newest_first;
  std::size_t limit = 50;   // 1 to 1000
  std::string cursor = {};  // RunPage::next of the page before
};

struct RunPage {
  std::vector<RunSummary> runs;
  std::string next = {};  // empty: this was the last page
};

}  // namespace holdfast

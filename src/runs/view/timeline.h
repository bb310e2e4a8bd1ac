// Timeline: what happened to a run, in order, and how long each attempt took. Made from the facts
// themselves: nothing is left out because it was repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "runs/view/run_source.h"
#include "storage/entry/entry.h"

namespace holdfast {

struct TimelineEvent {
  // command_received, run_started, step_planned, timer_planned, attempt_scheduled,
  // attempt_claimed, lease_extended, attempt_completed, attempt_failed, circuit_opened,
  // circuit_probed, circuit_closed, runnable_applied,
  // step_withdrawn, manual_step_paused, step_parked, manual_step_resolved, event_wait_opened,
  // event_buffered,
  // event_received, event_wait_timed_out, event_wait_resolved, child_run_started,
  // compensation_started, steps_adopted, graph_mutated, search_attributes_updated,
  // definition_migrated, run_continued_from, run_continued_to, run_queued, run_archived,
  // run_unarchived, run_terminal
  std::string type;
  TimeMs at = {};
  Position position = {};
  std::string step = {};  // empty: about the whole run
  std::string runnable_key = {};
  std::uint32_t attempt = 0;  // 0: about no attempt
  std::string summary;        // one line for people, without secrets
  // The data of the fact, without secrets: no claim tokens, no correlations or keys of events.
  Payload details = {};
};

// One attempt, or one wait, as a bar.
struct TimelineBar {
  std::string step;
  std::string runnable_key;
  std::uint32_t attempt = 1;
  TimeMs scheduled_at = {};
  TimeMs visible_at = {};
  std::optional<TimeMs> started_at = std::nullopt;  // claimed, or the wait began
  std::optional<TimeMs> ended_at = std::nullopt;
  // completed, failed, running, waiting (for a worker), scheduled (for later), paused (for
  // an operator), parked (after its last attempt failed), retried (it was parked), withdrawn,
  // expired (the lease of a lost worker), abandoned
  std::string status;
  std::string owner = {};  // who held the claim
};

struct Timeline {
  std::string run_id;
  std::string workflow;
  std::string status;
  TimeMs started_at = {};
  std::optional<TimeMs> ended_at = std::nullopt;
  TimeMs now = {};
  std::vector<TimelineEvent> events;
  std::vector<TimelineBar> bars;  // in the order they began
};

// The definition with this fingerprint; nullptr when it is not known.
using FindDefinition =
    std::function<std::shared_ptr<const Definition>(const SharedText& fingerprint)>;

// The facts about one run, in the order of the log: its own thread, and what the queues say of it.
class TimelineBuilder {
 public:
  // What log steps say is shown when `find` knows the definition of the run.
  explicit TimelineBuilder(const RunId& run, FindDefinition find = nullptr);
  TimelineBuilder(TimelineBuilder&& other) noexcept;
  TimelineBuilder& operator=(TimelineBuilder&& other) noexcept;
  TimelineBuilder(const TimelineBuilder&) = delete;
  TimelineBuilder& operator=(const TimelineBuilder&) = delete;
  ~TimelineBuilder();

  // Entries that are not facts about the run are left out.
  void add(const EntryView& entry, Position position);
  // The events that add has made since the last call, for readers that follow a run.
  std::vector<TimelineEvent> take_events();
  // Everything so far; the bars alone.
  [[nodiscard]] Timeline timeline(TimeMs now) const;
  [[nodiscard]] std::vector<TimelineBar> bars(TimeMs now) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

JsonText to_json(const Timeline& timeline);
JsonText to_json(const TimelineEvent& event);

}  // namespace holdfast

// Runs that a schedule starts: the command that starts one, the same from whichever process and
// however often. The signal id names the time a run is for, and the id of the run is derived from
// workflow, trigger and signal id.
#pragma once

#include <optional>
#include <string>

#include "runs/run/run_decide.h"

namespace holdfast {

inline constexpr std::size_t kMaxSignalIdBytes = 255;

// The time a run is for: from when it is due until the next one is.
struct ScheduleWindow {
  TimeMs start_at;
  std::optional<TimeMs> end_at;  // empty: it is never due again

  friend bool operator==(const ScheduleWindow&, const ScheduleWindow&) = default;
};

// "sha256:" and the hash of workflow, trigger and both ends of the window.
std::string derived_signal_id(std::string_view workflow, std::string_view trigger,
                              const ScheduleWindow& window);

// A window that a scheduler outside of the engine delivers.
struct DeliveredWindow {
  SharedText signal_id;  // empty: derived from the window
  std::optional<ScheduleWindow> window;
};
// invalid_argument: the signal id is too long or has control characters, the window does not end
// after its start, or neither is given although deliveries are to be counted once.
Result<void> check_delivery(const TriggerSpec& trigger, const DeliveredWindow& delivered);

// What a run that was started for a window has recorded about it; empty when no schedule started
// it.
struct RecordedSchedule {
  std::string trigger;
  std::string signal_id;
  std::optional<std::string> start_at;
  std::optional<std::string> end_at;
};
std::optional<RecordedSchedule> recorded_schedule(const RunStarted& started);
[[nodiscard]] bool is_for(const RecordedSchedule& recorded, const ScheduleWindow& window);

// started_by: schedule or scheduler. fresh: the id of the run when its trigger has no idempotency
// and another scheduler delivers it, so that each delivery starts a run.
struct ScheduledStart {
  std::shared_ptr<const Definition> definition;
  const TriggerSpec& trigger;  // with cron
  DeliveredWindow delivered;
  StartedBy started_by = StartedBy::schedule;
  RunId fresh;
};
StartRun start_of_schedule(const ScheduledStart& scheduled, TimeMs now);

}  // namespace holdfast

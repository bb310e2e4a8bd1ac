// Schedules: when the cron triggers of registered workflows are due. Every engine on
// a journal starts the same runs: the id of a run is derived from the workflow, the trigger and the
// scheduled time, so each time is started once, however many engines are running.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runs/engine/turn.h"
#include "runs/language/cron/cron.h"
#include "runs/run/run_decide.h"

namespace holdfast {

class Schedules {
 public:
  // Takes in which workflows are registered now, if that has changed.
  void refresh(LiveState& state, Definitions& definitions, TimeMs now);
  [[nodiscard]] bool is_fresh(const LiveState& state) const {
    return seen_.value_or(0) == state.registry().changes();
  }
  [[nodiscard]] std::optional<TimeMs> next() const;
  // The start of a run that is due, earliest first; each is given once, unless it is put back.
  struct Due {
    StartRun start;
    TimeMs at;
  };
  std::optional<Due> take_due(TimeMs now);
  void put_back(const Due& due);

 private:
  struct Entry {
    std::shared_ptr<const Definition> definition;
    TriggerSpec trigger;  // with cron
    CronClock clock;
    std::optional<TimeMs> next;
  };

  void add(const std::shared_ptr<const Definition>& definition, const TriggerSpec& trigger,
           TimeMs since, TimeMs now);

  std::vector<Entry> entries_;
  std::optional<std::uint64_t> seen_;  // LiveState::workflow_changes
};

}  // namespace holdfast

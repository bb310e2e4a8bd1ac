// TimelineBars: how long each piece of work of a run took: what the facts of the run and of its
// queues say, runnable by runnable. A fact that breaks a rule of its queue (a claim that is lost
// or taken, an attempt that has ended) moves no bar.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runs/dispatch/dispatch_facts.h"
#include "runs/run/run_fact.h"
#include "runs/view/timeline.h"

namespace holdfast {

// One claim of an attempt.
struct Holding {
  SharedText owner;
  SharedText claim_id;
  TimeMs from;
  TimeMs lease_until;
};

// One runnable, or a place where the run waits after a step is done.
struct Work {
  enum class By : std::uint8_t {
    worker,
    engine,
    timer,    // a step that is nothing but a wait
    timeout,  // ends another wait, or the run: it is not work and has no bar
  };
  SharedText runnable_key;
  SharedText step;
  std::uint32_t attempt = 1;
  By by = By::worker;
  bool planned = false;
  TimeMs scheduled_at = {};
  TimeMs visible_at = {};
  std::vector<Holding> holdings = {};
  std::optional<TimeMs> began = std::nullopt;  // of what the engine does
  std::string_view waits_as = {};              // paused or parked: it waits for an operator
  std::string says = {};                       // of a log step
  std::string awaits = {};                     // the names of events
  std::optional<TimeMs> ended = std::nullopt;
  std::string_view outcome = {};  // once it has ended
};

class TimelineBars {
 public:
  // What the steps of the run are from here on; nullptr: not known.
  void follow(std::shared_ptr<const Definition> definition) { definition_ = std::move(definition); }
  void take(TimeMs at, const RunFact& fact);
  void take(TimeMs at, const DispatchFact& fact);

  // nullptr when no fact has named it.
  [[nodiscard]] const Work* find(std::string_view runnable_key) const;
  [[nodiscard]] std::vector<TimelineBar> bars(TimeMs now) const;

 private:
  friend class RunFactTaker;       // timeline_bars.cc: one overload for each kind
  friend class DispatchFactTaker;  // the same for the facts of queues

  [[nodiscard]] bool is_log_step(std::string_view step) const;
  Work* edit(std::string_view runnable_key);
  Work& add(const SharedText& runnable_key, const SharedText& step);
  // The newest of the step, the timers of its waits left out.
  Work* newest(std::string_view step);
  // The run waits at the step from here on.
  void pause(const SharedText& step, Work* work, TimeMs at);
  void resolve(const SharedText& step, TimeMs at, std::string_view outcome);

  std::shared_ptr<const Definition> definition_;
  std::vector<Work> works_;
  std::map<SharedText, std::size_t> by_key_;
  std::map<SharedText, std::size_t> by_step_;  // the newest
  std::map<SharedText, std::size_t> pauses_;   // by step, that are open
  SharedText failed_item_;                     // the newest
};

}  // namespace holdfast

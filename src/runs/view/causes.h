// The causes of one run at one moment; see explanation.h, which puts them together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runs/view/explanation.h"
#include "runs/view/view_attempts.h"

namespace holdfast {

class CauseFinder {
 public:
  CauseFinder(const RunSource& source, const FindRun& find, int depth);

  // What the run waits for, oldest plan first; of a run that has ended, how it ended.
  Result<std::vector<Cause>> find();

 private:
  Cause ended() const;
  [[nodiscard]] std::string step_that_failed() const;
  void about_dead_letter(Cause& cause) const;
  Cause nothing_open() const;
  Cause missing_definition() const;
  Result<Cause> of_runnable(const PlannedRunnable& planned);
  Cause of_boundary(const ManualState& boundary, const PlannedRunnable& planned) const;
  void about_parked(Cause& cause, const ManualState& parked, const PlannedRunnable& planned) const;
  void offer_events(Cause& cause, const EventWait& wait) const;
  Result<Cause> of_internal(const PlannedRunnable& planned);
  Cause of_items(const PlannedRunnable& planned, const EachProgress& each) const;
  Result<Cause> of_child(const PlannedRunnable& planned, const ChildRunStarted& link);
  Cause of_attempt(const PlannedRunnable& planned, const Attempt& attempt) const;
  Cause of_scheduled(const PlannedRunnable& planned, const Attempt& attempt) const;
  Cause of_timer(const PlannedRunnable& planned, TimeMs due) const;
  void add_mutation(Cause& cause, const Runnable& plan) const;
  void add_deadline(Cause& cause, const PlannedRunnable& planned) const;
  [[nodiscard]] std::string previous_error(const Attempt& attempt) const;
  [[nodiscard]] std::string id() const { return to_string(run_.run_id()); }

  const RunSource& source_;
  const RunProjection& run_;
  const FindRun& find_;
  int depth_;  // how many parents are being explained
  std::vector<KnownAttempt> known_;
  std::map<SharedText, const Attempt*> attempts_;         // by runnable key
  std::map<SharedText, SharedText> queue_of_;             // likewise
  std::map<SharedText, const ChildRunStarted*> awaited_;  // by runnable key
};

// What the sentence about a run says of it: its most important cause, down to what is outside.
const Cause* most_important(const std::vector<Cause>& causes);

}  // namespace holdfast

// RunFact: one fact of a run, judged by what had to follow and then taken in. Private to
// oracle*.cc.
//
//   oracle_run.cc     plans, results, the end, and what must be there when a batch ends
//   oracle_waits.cc   decisions, events and children
//   oracle_replay.cc  what a replay takes over
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/oracle_model.h"

namespace holdfast::sim::model {

class RunFact {
 public:
  RunFact(OracleModel& model, Run& run, const StoredFact& fact, const Value& data)
      : model_(model), run_(run), at_(fact.at.value), kind_(fact.kind), data_(data) {}

  void take();

 private:
  bool check(bool kept, const std::string& promise, const std::string& complaint) {
    return model_.check(kept, promise, complaint);
  }
  [[nodiscard]] bool modelled() const {
    return run_.definition != nullptr && run_.unmodelled.empty();
  }

  // The duty that this fact fulfils; the complaint says what was due instead.
  std::optional<Duty> fulfil(Duty::Kind kind, const std::string& subject,
                             const std::string& promise,
                             const std::function<bool(const Duty&)>& fits = nullptr);

  // Each of these members is as expected; one that is not expected is not there.
  void compare(const Duty& duty, const Value& found, const std::vector<std::string>& names);

  void receipt();

  // What somebody outside asked for comes after the receipt of the command, once.
  void commanded(const std::set<std::string>& types);

  void started();
  void adopted();
  void planned();
  void plan_one(const Value& plan);
  void applied();
  void withdrawn();
  void child();
  void paused();
  void resolved();
  void wait_opened();
  void buffered();
  void received();
  void timed_out();
  void wait_resolved();
  void continues();
  void compensation_started();
  void ends();
  void close_children(const std::function<bool(const ChildLink&)>& meant);
  std::string why_not(const std::string& step) const;

  OracleModel& model_;
  Run& run_;
  std::int64_t at_;
  const std::string& kind_;
  const Value& data_;
};

}  // namespace holdfast::sim::model

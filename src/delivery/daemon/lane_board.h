// LaneBoard: which lane may be worked on, and when. A lane is worked on by one worker at a time.
// Without a connection, or during a pause, no lane is; after a pause one lane is tried first.
//
// It knows no rows: the worker that takes a lane finds out whether it has any. Times are
// milliseconds of a clock that never goes backwards. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "delivery/daemon/outbox_row.h"

namespace holdfast::delivery {

class LaneBoard {
 public:
  // The lane has a new row.
  void wake(const Lane& lane, std::int64_t now);
  // A lane that is due and free. The worker gives it back by wait_until or drop.
  std::optional<Lane> take(std::int64_t now);
  // Its first row is due then.
  void wait_until(const Lane& lane, std::int64_t time);
  // It has no row, unless it was woken in the meantime.
  void drop(const Lane& lane, std::int64_t now);

  // No lane may be taken before `until`, or after close() before open().
  void pause(std::int64_t until);
  void close() { open_ = false; }
  void open() { open_ = true; }
  // A message got through: all lanes may be taken.
  void succeeded() { probing_ = false; }

  // When a lane can be taken at the earliest; no value: not before something else happens.
  [[nodiscard]] std::optional<std::int64_t> next_time() const;
  [[nodiscard]] bool paused(std::int64_t now) const { return now < paused_until_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }
  [[nodiscard]] std::size_t busy() const { return busy_; }

 private:
  struct State {
    std::int64_t due = 0;
    bool busy = false;
    bool woken = false;  // while it was busy
  };

  void set_due(const Lane& lane, State& state, std::int64_t due);

  std::map<Lane, State> lanes_;
  std::set<std::pair<std::int64_t, Lane>> due_;  // those that are not busy
  std::size_t busy_ = 0;
  std::int64_t paused_until_ = 0;
  bool probing_ = false;
  bool open_ = false;
};

}  // namespace holdfast::delivery

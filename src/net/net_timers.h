// Timers: due times, earliest first. A heap that stores the index of each entry in the entry, so
// that a time can be moved without a search and no stale entry causes a wake-up. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace holdfast::net {

using SteadyTime = std::chrono::steady_clock::time_point;

class Timed {
 public:
  Timed() = default;
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  virtual ~Timed() = default;
  // It is due; it has been removed from the timers.
  virtual void on_time() = 0;

 private:
  friend class Timers;
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  std::size_t place_ = kNowhere;
  SteadyTime due_ = {};
};

class Timers {
 public:
  // Moves it if it is set already.
  void set(Timed& timed, SteadyTime due);
  void clear(Timed& timed);
  [[nodiscard]] std::optional<SteadyTime> next() const;
  // Removes and returns the next one that is due; nullptr if there is none.
  Timed* take_due(SteadyTime now);

 private:
  void put(std::size_t place, Timed* timed);
  void rise(std::size_t place, Timed* timed);
  void sink(std::size_t place, Timed* timed);

  std::vector<Timed*> heap_;
};

}  // namespace holdfast::net

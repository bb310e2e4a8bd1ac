// Timers: what is to happen when, earliest first. A heap that knows the place of each entry, so
// that a time can be moved without searching and nothing is left behind that would wake anybody.
// One thread.
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
  // Its time has come; it is no longer among the timers.
  virtual void on_time() = 0;

 private:
  friend class Timers;
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  std::size_t place_ = kNowhere;
  SteadyTime due_ = {};
};

class Timers {
 public:
  // Moves it when it is there already.
  void set(Timed& timed, SteadyTime due);
  void clear(Timed& timed);
  [[nodiscard]] std::optional<SteadyTime> next() const;
  // The next one that is due, taken out; nullptr when there is none.
  Timed* take_due(SteadyTime now);

 private:
  void put(std::size_t place, Timed* timed);
  void rise(std::size_t place, Timed* timed);
  void sink(std::size_t place, Timed* timed);

  std::vector<Timed*> heap_;
};

}  // namespace holdfast::net

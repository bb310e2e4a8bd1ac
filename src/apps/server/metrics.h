// Metrics: the counters of the server, in the text format of Prometheus. Counting is safe from any
// thread and never blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "runs/engine/engine_core.h"

namespace holdfast {

// Durations or sizes, by upper bound.
template <std::size_t N>
class Histogram {
 public:
  explicit Histogram(const std::array<double, N>& bounds) : bounds_(bounds) {}

  void add(double value) {
    std::size_t bucket = 0;
    while (bucket < N && value > bounds_[bucket]) {
      ++bucket;
    }
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    // Thousandths, because sums of floating numbers are not atomic everywhere.
    sum_milli_.fetch_add(static_cast<std::uint64_t>(value * 1000), std::memory_order_relaxed);
  }
  void write(std::string& out, std::string_view name, std::string_view labels, double scale) const;

 private:
  std::array<double, N> bounds_;
  std::array<std::atomic<std::uint64_t>, N + 1> counts_{};
  std::atomic<std::uint64_t> sum_milli_ = 0;
};

class MetricsText;

class Metrics {
 public:
  Metrics();

  void committed(const CommitReport& report);
  void answered(std::string_view operation, int status, double seconds);
  // limited: answered with 429.
  void authentication_failed(bool limited) {
    (limited ? auth_limited_ : auth_refused_).fetch_add(1, std::memory_order_relaxed);
  }

  // The counters of this object; the caller adds the gauges.
  void write(MetricsText& text) const;

 private:
  using Count = std::atomic<std::uint64_t>;
  struct Operation {
    std::map<int, std::uint64_t> by_status;
    Histogram<14> us;
    Operation();
  };

  Count commits_ = 0;
  Count facts_ = 0;
  Count bytes_ = 0;
  Count runs_started_ = 0;
  Count runs_ended_ = 0;
  Count attempts_scheduled_ = 0;
  Count attempts_claimed_ = 0;
  Count attempts_completed_ = 0;
  Count attempts_failed_ = 0;
  Count attempts_retried_ = 0;
  Count heartbeats_ = 0;
  Count auth_refused_ = 0;
  Count auth_limited_ = 0;
  Histogram<14> sync_us_;
  Histogram<12> group_commands_;
  Histogram<12> group_facts_;
  mutable std::mutex mutex_;
  std::map<std::string, Operation, std::less<>> operations_;
};

// The text, a family of numbers at a time.
class MetricsText {
 public:
  enum class Kind : std::uint8_t { counter, gauge, histogram };
  void family(std::string_view name, Kind kind, std::string_view help);
  // Of the family that was begun last. labels: {queue="default"} or nothing.
  void value(std::string_view labels, double value);
  std::string& out() { return out_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  std::string take() && { return std::move(out_); }

 private:
  std::string name_;
  std::string out_;
};

// {name="value"}, with what must be escaped escaped.
std::string metric_label(std::string_view name, std::string_view value);

}  // namespace holdfast

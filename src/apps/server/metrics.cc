#include "apps/server/metrics.h"

#include <fmt/format.h>

namespace holdfast {

namespace {

constexpr double kMicro = 1e-6;
constexpr std::array<double, 14> kTimesUs{100,     250,     500,    1'000,   2'500,
                                          5'000,   10'000,  25'000, 50'000,  100'000,
                                          250'000, 500'000, 1e6,    10 * 1e6};
constexpr std::array<double, 12> kSizes{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};

}  // namespace

std::string metric_label(std::string_view name, std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
    }
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return fmt::format("{}=\"{}\"", name, escaped);
}

void MetricsText::family(std::string_view name, Kind kind, std::string_view help) {
  static constexpr std::array<std::string_view, 3> kKinds{"counter", "gauge", "histogram"};
  name_ = name;
  out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                      kKinds[static_cast<std::size_t>(kind)]);
}

void MetricsText::value(std::string_view labels, double value) {
  out_ += labels.empty() ? fmt::format("{} {}\n", name_, value)
                         : fmt::format("{}{{{}}} {}\n", name_, labels, value);
}

template <std::size_t N>
void Histogram<N>::write(std::string& out, std::string_view name, std::string_view labels,
                         double scale) const {
  const std::string_view comma = labels.empty() ? "" : ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < N; ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    out += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bounds_[i] * scale,
                       total);
  }
  total += counts_[N].load(std::memory_order_relaxed);
  out += fmt::format("{}_bucket{{{}{}le=\"+Inf\"}} {}\n", name, labels, comma, total);
  const std::string around = labels.empty() ? std::string() : fmt::format("{{{}}}", labels);
  const auto sum = static_cast<double>(sum_milli_.load(std::memory_order_relaxed)) / 1000 * scale;
  out += fmt::format("{}_sum{} {}\n{}_count{} {}\n", name, around, sum, name, around, total);
}

template class Histogram<12>;
template class Histogram<14>;

Metrics::Operation::Operation() : us(kTimesUs) {}

Metrics::Metrics() : sync_us_(kTimesUs), group_commands_(kSizes), group_facts_(kSizes) {}

void Metrics::committed(const CommitReport& report) {
  const auto add = [](Count& count, std::uint64_t more) {
    count.fetch_add(more, std::memory_order_relaxed);
  };
  add(commits_, 1);
  add(facts_, report.entries);
  add(bytes_, report.bytes);
  add(runs_started_, report.counts.started);
  add(runs_ended_, report.counts.ended);
  add(attempts_scheduled_, report.counts.scheduled);
  add(attempts_claimed_, report.counts.claimed);
  add(attempts_completed_, report.counts.completed);
  add(attempts_failed_, report.counts.failed);
  add(attempts_retried_, report.counts.retried);
  add(heartbeats_, report.counts.heartbeats);
  sync_us_.add(static_cast<double>(report.write_us));
  group_commands_.add(static_cast<double>(report.commands));
  group_facts_.add(static_cast<double>(report.entries));
}

void Metrics::answered(std::string_view operation, int status, double seconds) {
  const std::scoped_lock lock(mutex_);
  auto known = operations_.find(operation);
  if (known == operations_.end()) {
    known = operations_.try_emplace(std::string(operation)).first;
  }
  ++known->second.by_status[status];
  known->second.us.add(seconds / kMicro);
}

void Metrics::write(MetricsText& text) const {
  const auto counter = [&](std::string_view name, std::string_view help, const Count& count) {
    text.family(name, MetricsText::Kind::counter, help);
    text.value("", static_cast<double>(count.load(std::memory_order_relaxed)));
  };
  counter("holdfast_commits_total", "Batches made durable by this process.", commits_);
  counter("holdfast_facts_total", "Facts in them.", facts_);
  counter("holdfast_fact_bytes_total", "Bytes of these facts.", bytes_);
  counter("holdfast_runs_started_total", "Runs started by this process.", runs_started_);
  counter("holdfast_runs_ended_total", "Runs that ended in this process.", runs_ended_);
  counter("holdfast_attempts_scheduled_total", "Attempts put into queues.", attempts_scheduled_);
  counter("holdfast_claims_total", "Attempts claimed by workers.", attempts_claimed_);
  counter("holdfast_attempts_completed_total", "Attempts that were done.", attempts_completed_);
  counter("holdfast_attempts_failed_total", "Attempts that failed.", attempts_failed_);
  counter("holdfast_retries_total", "Failed attempts that are tried again.", attempts_retried_);
  counter("holdfast_heartbeats_total", "Heartbeats of workers.", heartbeats_);
  text.family("holdfast_authentication_failures_total", MetricsText::Kind::counter,
              "Requests without a valid token, by answer: 401 (refused) or 429 (limited).");
  text.value(metric_label("outcome", "refused"),
             static_cast<double>(auth_refused_.load(std::memory_order_relaxed)));
  text.value(metric_label("outcome", "limited"),
             static_cast<double>(auth_limited_.load(std::memory_order_relaxed)));
  const auto histogram = [&](std::string_view name, std::string_view help, const auto& measured,
                             double scale) {
    text.family(name, MetricsText::Kind::histogram, help);
    measured.write(text.out(), name, "", scale);
  };
  histogram("holdfast_commit_seconds", "Time to make a batch durable (write and sync).", sync_us_,
            kMicro);
  histogram("holdfast_group_commands", "Commands decided in one batch.", group_commands_, 1);
  histogram("holdfast_group_facts", "Facts in one batch.", group_facts_, 1);
  const std::scoped_lock lock(mutex_);
  text.family("holdfast_http_requests_total", MetricsText::Kind::counter,
              "Requests by operation and status.");
  for (const auto& [name, operation] : operations_) {
    for (const auto& [status, count] : operation.by_status) {
      text.value(fmt::format("{},status=\"{}\"", metric_label("operation", name), status),
                 static_cast<double>(count));
    }
  }
  text.family("holdfast_http_request_seconds", MetricsText::Kind::histogram,
              "Time from the last byte of a request to its answer.");
  for (const auto& [name, operation] : operations_) {
    operation.us.write(text.out(), "holdfast_http_request_seconds", metric_label("operation", name),
                       kMicro);
  }
}

}  // namespace holdfast

#include "apps/broker/broker_jobs.h"

#include <algorithm>

#include "delivery/broker/retention.h"
#include "delivery/broker/webhook_log.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kBatchRows = 1000;
constexpr std::int64_t kWebhookLogMs = 30 * kDaysMs;

Result<std::uint64_t> prune_all(BrokerStore& store, TimeMs now) {
  std::uint64_t messages = 0;
  for (std::optional<HistoryPlace> after = HistoryPlace{}; after.has_value();) {
    HOLDFAST_TRY(Pruned batch, prune_messages(store, now, kBatchRows, *after));
    messages += batch.messages;
    after = std::move(batch.last);
  }
  return messages;
}

Result<std::uint64_t> sweep_all_dedupe(BrokerStore& store, TimeMs now) {
  std::uint64_t removed = 0;
  for (;;) {
    HOLDFAST_TRY(const std::uint64_t rows, sweep_dedupe(store, now, kBatchRows));
    removed += rows;
    if (rows < kBatchRows) {
      return removed;
    }
  }
}

// The counts are of the last run, whatever its result.
template <typename T>
Result<T> counted(BrokerService& service, BrokerJob job, Result<T> result) {
  service.metrics.job_ended(job, result.ok() ? Result<void>() : Result<void>(result.error()),
                            service.clock.now());
  return result;
}

Result<Swept> sweep_all(BrokerService& service) {
  Swept swept;
  const TimeMs now = service.clock.now();
  if (service.deliveries != nullptr) {
    HOLDFAST_TRY(swept.deliveries, service.deliveries->end_overdue());
  }
  HOLDFAST_TRY(swept.messages, prune_all(service.store, now));
  HOLDFAST_TRY(swept.dedupe_rows, sweep_all_dedupe(service.store, now));
  HOLDFAST_CHECK(prune_webhook_log(service.store, TimeMs{now.value - kWebhookLogMs}, kBatchRows));
  return swept;
}

Result<LeaseSweep> end_all_leases(BrokerService& service) {
  HOLDFAST_TRY(LeaseSweep ended, service.deliveries->end_leases());
  if (ended.released > 0) {
    service.deliveries_changed();
  }
  HOLDFAST_TRY(const QueueEvents of_queues, service.queues->advance_all());
  if (of_queues.more_ready) {
    service.store.commits().notify();
  }
  ended.dead += of_queues.dead;
  return ended;
}

}  // namespace

Result<Swept> sweep(BrokerService& service) {
  return counted(service, BrokerJob::sweep, sweep_all(service));
}

Result<OrphanReport> check_store(BrokerService& service) {
  auto report = counted(service, BrokerJob::orphan_check,
                        check_orphans(service.store, service.clock.now(), {}));
  if (report.ok()) {
    service.metrics.orphans_found(report.value().total());
  }
  return report;
}

Result<LeaseSweep> sweep_leases(BrokerService& service) {
  HOLDFAST_ASSERT(service.deliveries != nullptr && service.queues != nullptr);
  return counted(service, BrokerJob::lease_sweep, end_all_leases(service));
}

Result<void> BrokerJobs::start() {
  return thread_.start([this] { run(); });
}

void BrokerJobs::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BrokerJobs::run() {
  using SteadyClock = std::chrono::steady_clock;
  auto next_sweep = SteadyClock::now();
  auto next_check = next_sweep + times_.check_every;
  auto next_leases = next_sweep + times_.leases_every;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_until(lock, std::min({next_sweep, next_check, next_leases}),
                              [this] { return stopping_; })) {
    lock.unlock();
    if (SteadyClock::now() >= next_leases) {
      run_leases();
      next_leases = SteadyClock::now() + times_.leases_every;
    }
    if (SteadyClock::now() >= next_sweep) {
      run_sweep();
      next_sweep = SteadyClock::now() + times_.sweep_every;
    }
    if (SteadyClock::now() >= next_check) {
      run_check();
      next_check = SteadyClock::now() + times_.check_every;
    }
    lock.lock();
  }
}

void BrokerJobs::run_sweep() {
  const auto swept = sweep(service_);
  if (!swept.ok()) {
    log_.write(LogLevel::error, "the sweep failed", {{"why", swept.error().text()}});
  } else if (swept.value().dedupe_rows + swept.value().messages + swept.value().deliveries > 0) {
    log_.write(LogLevel::info, "swept",
               {{"messages", std::to_string(swept.value().messages)},
                {"deliveries", std::to_string(swept.value().deliveries)},
                {"dedupe_rows", std::to_string(swept.value().dedupe_rows)}});
  }
}

void BrokerJobs::run_leases() {
  const auto ended = sweep_leases(service_);
  if (!ended.ok()) {
    log_.write(LogLevel::error, "leases could not be ended", {{"why", ended.error().text()}});
  } else if (ended.value().dead > 0) {
    log_.write(LogLevel::warning, "deliveries or messages of queues were given up",
               {{"deliveries", std::to_string(ended.value().dead)}});
  }
}

void BrokerJobs::run_check() {
  const auto report = check_store(service_);
  if (!report.ok()) {
    log_.write(LogLevel::error, "the orphan check failed", {{"why", report.error().text()}});
  } else if (report.value().total() > 0) {
    log_.write(LogLevel::error, "the orphan check found rows; see `holdfast broker check`",
               {{"rows", std::to_string(report.value().total())}});
  }
}

}  // namespace holdfast::delivery

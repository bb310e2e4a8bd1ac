#include "apps/broker/broker_metrics.h"

#include <algorithm>

#include "apps/broker/delivery_polls.h"
#include "apps/broker/push_hub.h"
#include "apps/broker/webhook_sender.h"
#include "base/fields.h"

namespace holdfast::delivery {

namespace {

using Kind = MetricsText::Kind;

constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;
constexpr std::array<double, 14> kAcceptUs{100,     250,     500,    1'000,   2'500,
                                           5'000,   10'000,  25'000, 50'000,  100'000,
                                           250'000, 500'000, 1e6,    10 * 1e6};

void write_counter(MetricsText& text, std::string_view name, std::string_view help,
                   std::uint64_t value) {
  text.family(name, Kind::counter, help);
  text.value("", static_cast<double>(value));
}

void write_accepts(MetricsText& text, const BrokerCounters& counters) {
  text.family("cm_broker_accept_total", Kind::counter, "Requests to accept a message, by result.");
  const auto result = [&](std::string_view name, const std::atomic<std::uint64_t>& count) {
    text.value(metric_label("result", name), static_cast<double>(count.load()));
  };
  result("created", counters.created);
  result("duplicate", counters.duplicate);
  result("conflict", counters.conflict);
  result("b1", counters.b1_rejected);
  result("b2", counters.b2_rejected);
  result("error", counters.error);
  write_counter(text, "cm_broker_b0_hit_total", "Requests whose id was known before any check.",
                counters.b0_hit);
  write_counter(text, "cm_broker_dedupe_fingerprint_mismatch_total",
                "Ids that were sent again with other content.", counters.conflict);
  write_counter(text, "cm_broker_rate_limit_rejection_total",
                "Messages refused by the rate limiter.", counters.rate_limit_rejection);
  write_counter(text, "cm_broker_limiter_errors_total",
                "Messages refused because the rate limiter could not be reached.",
                counters.limiter_error);
  for (const std::string_view name : {"cm_broker_rate_limit_consumed_then_b2_rejected_total",
                                      "cm_broker_rate_limit_consumed_then_rejected_total"}) {
    write_counter(text, name, "Units of the limiter spent on messages that were then refused.",
                  counters.consumed_then_b2_rejected);
  }
}

void write_deliveries(MetricsText& text, const DeliveryCounters& counters) {
  write_counter(text, "cm_broker_delivery_claimed_total", "Deliveries leased to a receiver.",
                counters.claimed);
  write_counter(text, "cm_broker_delivery_redelivered_total",
                "Deliveries leased that had been leased before.", counters.redelivered);
  write_counter(text, "cm_broker_delivery_acked_total", "Deliveries acknowledged.", counters.acked);
  write_counter(text, "cm_broker_delivery_fenced_total",
                "Acknowledgements without a lease: they changed nothing.", counters.fenced);
  write_counter(text, "cm_broker_delivery_lease_ended_total",
                "Leases that ended without an acknowledgement.", counters.leases_ended);
  write_counter(text, "cm_broker_delivery_dead_total", "Deliveries that were given up.",
                counters.dead);
}

void write_queues(MetricsText& text, const QueueCounters& counters) {
  write_counter(text, "cm_broker_queue_claimed_total", "Messages of queues leased to a consumer.",
                counters.claimed);
  write_counter(text, "cm_broker_queue_redelivered_total",
                "Messages of queues leased that had been leased before.", counters.redelivered);
  write_counter(text, "cm_broker_queue_acked_total", "Messages of queues acknowledged.",
                counters.acked);
  write_counter(text, "cm_broker_queue_nacked_total",
                "Messages of queues that their consumer gave back.", counters.nacked);
  write_counter(text, "cm_broker_queue_extended_total", "Leases of queues that were extended.",
                counters.extended);
  write_counter(text, "cm_broker_queue_fenced_total",
                "Requests about messages of queues without their lease: they changed nothing.",
                counters.fenced);
  write_counter(text, "cm_broker_queue_lease_ended_total",
                "Leases of queues that ended without an acknowledgement.", counters.leases_ended);
  write_counter(text, "cm_broker_queue_dead_total", "Messages of queues that were given up.",
                counters.dead);
  write_counter(text, "cm_broker_queue_redriven_total",
                "Dead messages of queues that were made ready again.", counters.redriven);
  write_counter(text, "cm_broker_queue_discarded_total",
                "Messages of queues discarded by an operator, or withdrawn by their sender.",
                counters.discarded);
}

void write_depth(MetricsText& text, const DeliveryDepth& depth, TimeMs now) {
  text.family("cm_broker_delivery_depth", Kind::gauge, "Deliveries by channel and state.");
  for (const DeliveryDepth::Count& count : depth.counts) {
    text.value(metric_label("channel", count.channel) + "," + metric_label("state", count.state),
               static_cast<double>(count.rows));
  }
  std::uint64_t waiting = 0;
  for (const DeliveryDepth::Count& count : depth.counts) {
    waiting += count.state == "queued" || count.state == "leased" ? count.rows : 0;
  }
  text.family("broker_queue_depth", Kind::gauge, "Deliveries that have not ended.");
  text.value("", static_cast<double>(waiting));
  text.family("cm_broker_delivery_oldest_seconds", Kind::gauge,
              "How long the oldest delivery that has not ended has waited.");
  const std::int64_t waited_ms = depth.oldest_at.has_value()
                                     ? std::max<std::int64_t>(now.value - depth.oldest_at->value, 0)
                                     : 0;
  text.value("", static_cast<double>(waited_ms) * kMilli);
}

void write_pushes(MetricsText& text, const PushHub& push) {
  const PushCounters& counters = push.counters();
  text.family("cm_broker_push_connections", Kind::gauge, "WebSockets of members.");
  text.value("", static_cast<double>(push.connections()));
  write_counter(text, "cm_broker_push_opened_total", "WebSockets that were opened.",
                counters.opened);
  write_counter(text, "cm_broker_push_refused_total",
                "WebSockets that were not opened, or ended without a valid hello.",
                counters.refused);
  write_counter(text, "cm_broker_push_concurrent_total",
                "WebSockets of a member that had another one.", counters.concurrent);
  write_counter(text, "cm_broker_push_slow_total",
                "WebSockets closed because the member did not read.", counters.slow);
  write_counter(text, "cm_broker_push_deliveries_total", "Deliveries pushed to a WebSocket.",
                counters.pushed);
}

void write_webhooks(MetricsText& text, const WebhookCounters& counters) {
  text.family("cm_broker_webhook_attempts_total", Kind::counter,
              "Requests to webhooks that have ended, by outcome.");
  for (std::size_t i = 0; i < counters.attempts.size(); ++i) {
    text.value(metric_label("outcome", to_text(static_cast<WebhookOutcome>(i))),
               static_cast<double>(counters.attempts.at(i).load()));
  }
  write_counter(text, "cm_broker_webhook_exhausted_total",
                "Messages that were given up for a webhook.", counters.exhausted);
  write_counter(text, "cm_broker_webhook_disabled_total",
                "Webhooks that were disabled by their failures.", counters.disabled);
  text.family("cm_broker_webhook_in_flight", Kind::gauge, "Requests to webhooks on their way.");
  text.value("", static_cast<double>(counters.in_flight.load()));
}

void write_webhook_states(MetricsText& text, const DeliveryDepth& depth) {
  text.family("cm_broker_webhooks", Kind::gauge, "Webhooks by state.");
  for (const DeliveryDepth::WebhookCount& count : depth.webhooks) {
    text.value(metric_label("state", count.state), static_cast<double>(count.rows));
  }
}

void write_connections(MetricsText& text, const net::Counters& counters) {
  write_counter(text, "broker_connections_total", "Connections that were accepted.",
                counters.accepted);
  write_counter(text, "broker_connections_rejected_total",
                "Connections that were closed because there were too many.", counters.refused);
  text.family("broker_connections_active", Kind::gauge, "Connections that are open.");
  text.value("", static_cast<double>(counters.open));
}

}  // namespace

BrokerMetrics::BrokerMetrics() : accept_us_(kAcceptUs) {}

void BrokerMetrics::accept_took(std::chrono::steady_clock::duration time) {
  accept_us_.add(std::chrono::duration<double, std::micro>(time).count());
}

void BrokerMetrics::count_answer(const Result<AcceptReply>& reply, Priority priority) {
  if (reply.ok()) {
    if (!reply.value().duplicate) {
      ++routed_.at(static_cast<std::size_t>(priority));
    }
  } else if (const auto rejection = rejection_of(reply.error()); rejection.has_value()) {
    ++rejected_.at(static_cast<std::size_t>(*rejection));
  }
}

void BrokerMetrics::job_ended(BrokerJob job, const Result<void>& result, TimeMs now) {
  Job& counted = jobs_.at(static_cast<std::size_t>(job));
  ++counted.runs;
  if (result.ok()) {
    counted.last_success_ms = now.value;
  } else {
    ++counted.failures;
  }
}

void BrokerMetrics::write_answers(MetricsText& text) const {
  text.family("broker_messages_routed_total", Kind::counter, "New messages, by priority.");
  for (std::size_t i = 0; i < routed_.size(); ++i) {
    text.value(metric_label("priority", to_text(static_cast<Priority>(i))),
               static_cast<double>(routed_.at(i).load()));
  }
  text.family("broker_messages_rejected_total", Kind::counter,
              "Messages that were not accepted, by the name of the rejection.");
  for (std::size_t i = 0; i < rejected_.size(); ++i) {
    text.value(metric_label("reason", rejection_info(static_cast<Rejection>(i)).name),
               static_cast<double>(rejected_.at(i).load()));
  }
}

void BrokerMetrics::write_jobs(MetricsText& text) const {
  const auto each = [&](const auto& value_of) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      text.value(metric_label("job", to_text(static_cast<BrokerJob>(i))), value_of(jobs_.at(i)));
    }
  };
  text.family("cm_broker_job_runs_total", Kind::counter, "Runs of a job, by job.");
  each([](const Job& job) { return static_cast<double>(job.runs.load()); });
  text.family("cm_broker_job_failures_total", Kind::counter, "Runs of a job that failed.");
  each([](const Job& job) { return static_cast<double>(job.failures.load()); });
  text.family("cm_broker_job_last_success_timestamp", Kind::gauge,
              "When a job last succeeded, in seconds since 1970; 0: not yet.");
  each([](const Job& job) { return static_cast<double>(job.last_success_ms.load()) * kMilli; });
}

std::string BrokerMetrics::text(const MetricsSources& sources, const Result<DeliveryDepth>& depth,
                                TimeMs now) const {
  MetricsText text;
  if (sources.broker != nullptr) {
    write_accepts(text, sources.broker->counters());
  }
  write_answers(text);
  if (sources.deliveries != nullptr) {
    write_deliveries(text, sources.deliveries->counters());
  }
  if (sources.polls != nullptr) {
    text.family("cm_broker_delivery_polls", Kind::gauge, "Requests that wait for deliveries.");
    text.value("", static_cast<double>(sources.polls->waiting()));
  }
  if (sources.queues != nullptr) {
    write_queues(text, sources.queues->counters());
  }
  if (sources.queue_polls != nullptr) {
    text.family("cm_broker_queue_polls", Kind::gauge, "Requests that wait for messages of queues.");
    text.value("", static_cast<double>(sources.queue_polls->waiting()));
  }
  if (sources.push != nullptr) {
    write_pushes(text, *sources.push);
  }
  if (sources.webhooks != nullptr) {
    write_webhooks(text, sources.webhooks->counters());
  }
  if (sources.listener != nullptr) {
    write_connections(text, sources.listener->counters());
  }
  text.family("cm_broker_accept_seconds", Kind::histogram,
              "Time from a complete request to its durable outcome.");
  accept_us_.write(text.out(), text.name(), "", kMicro);
  write_counter(text, "cm_broker_dedupe_misconfig_total",
                "Settings of workspaces that were refused.", misconfig_);
  write_counter(text, "cm_broker_dedupe_orphan_check_total", "Runs of the orphan check.",
                jobs_.at(static_cast<std::size_t>(BrokerJob::orphan_check)).runs);
  for (const std::string_view name :
       {"cm_broker_dedupe_orphan_found", "cm_broker_atomicity_violation_found"}) {
    text.family(name, Kind::gauge, "Rows that the newest orphan check found; always 0.");
    text.value("", static_cast<double>(orphans_.load()));
  }
  write_jobs(text);
  write_counter(text, "broker_ttl_sweeps_total", "Runs of the retention sweep.",
                jobs_.at(static_cast<std::size_t>(BrokerJob::sweep)).runs);
  for (const std::string_view name : {"cm_broker_store_readable", "broker_db_healthy"}) {
    text.family(name, Kind::gauge, "1: the store answers.");
    text.value("", depth.ok() ? 1 : 0);
  }
  if (depth.ok()) {
    write_depth(text, depth.value(), now);
    write_webhook_states(text, depth.value());
  }
  return std::move(text).take();
}

}  // namespace holdfast::delivery

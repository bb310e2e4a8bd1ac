// The operations on the daemon itself: health, version, metrics, token, stop.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "apps/daemon/daemon_document.h"
#include "apps/daemon/daemon_service.h"
#include "apps/server/metrics.h"
#include "base/encoding.h"
#include "delivery/api/daemon_requests.h"

namespace holdfast::delivery {

namespace {

using MetricKind = MetricsText::Kind;

constexpr std::int64_t kUptimeUnitMs = 1000;
constexpr std::int64_t kWindowUnitMs = 3'600'000;
constexpr double kMilli = 1e-3;
constexpr std::uint64_t kHighPercent = 80;
constexpr std::uint64_t kFullPercent = 95;

std::int64_t oldest_ms(const OutboxCounts& counts, TimeMs now) {
  return counts.oldest_pending_at.has_value()
             ? std::max<std::int64_t>(now.value - counts.oldest_pending_at->value, 0)
             : 0;
}

std::uint64_t rows_of(const OutboxCounts& counts, OutboxState state) {
  return counts.rows.at(static_cast<std::size_t>(state));
}

std::uint64_t inbox_percent(const Inbox& inbox, const InboxCounts& counts) {
  return counts.bytes * 100 / std::max<std::uint64_t>(inbox.max_bytes(), 1);
}

std::vector<std::string> ipc_features() {
  return {"send", "outbox", "inbox", "events", "topics", "presence"};
}

std::uint64_t tables_of(const DaemonFileKind& kind) { return kind.migrations.back().version; }

class DaemonMetricsText {
 public:
  explicit DaemonMetricsText(const std::string& mesh) : mesh_(metric_label("mesh", mesh)) {}

  void one(std::string_view name, MetricKind kind, std::string_view help, double value) {
    text_.family(name, kind, help);
    text_.value(mesh_, value);
  }
  void family(std::string_view name, MetricKind kind, std::string_view help) {
    text_.family(name, kind, help);
  }
  void value(const std::string& labels, double value) { text_.value(mesh_ + "," + labels, value); }
  std::string take() && { return std::move(text_).take(); }

 private:
  std::string mesh_;
  MetricsText text_;
};

void write_outbox(DaemonMetricsText& text, DaemonService& service, const OutboxCounts& counts,
                  const InboxCounts& inbox) {
  text.family("cm_daemon_outbox_depth", MetricKind::gauge, "Messages of the outbox, by status.");
  for (std::size_t i = 0; i < counts.rows.size(); ++i) {
    text.value(metric_label("status", to_text(static_cast<OutboxState>(i))),
               static_cast<double>(counts.rows.at(i)));
  }
  text.one("cm_daemon_outbox_age_seconds", MetricKind::gauge,
           "How long the oldest pending message has waited.",
           static_cast<double>(oldest_ms(counts, service.clock.now())) * kMilli);
  text.family("cm_daemon_disk_pct", MetricKind::gauge,
              "The limit of a file that is used, in percent.");
  text.value(metric_label("kind", "outbox"), static_cast<double>(service.outbox.used_percent()));
  text.value(metric_label("kind", "inbox"),
             static_cast<double>(inbox_percent(service.inbox, inbox)));
}

void write_drain(DaemonMetricsText& text, DaemonService& service) {
  const DrainStatus status = service.drain.status();
  const DrainCounters& counters = service.drain.counters();
  const auto counter = [&](std::string_view name, std::string_view help,
                           const std::atomic<std::uint64_t>& value) {
    text.one(name, MetricKind::counter, help, static_cast<double>(value.load()));
  };
  text.one("cm_daemon_connected", MetricKind::gauge, "1: connected to a broker.",
           status.connected ? 1 : 0);
  counter("cm_daemon_reconnects_total", "Connections to a broker.", counters.connects);
  counter("cm_daemon_outbox_dead_total", "Messages that the broker refused.", counters.dead);
  counter("cm_daemon_outbox_expired_total", "Messages that were too old to send.",
          counters.expired);
  counter("cm_daemon_outbox_parked_total", "Messages that left their lane.", counters.parked);
  counter("cm_daemon_delivered_total", "Messages that the broker accepted.", counters.sent);
  counter("cm_daemon_transient_total", "Attempts that will be repeated.", counters.transient);
  counter("cm_daemon_ambiguous_total", "Attempts without an answer.", counters.ambiguous);
  counter("cm_daemon_fenced_total", "Outcomes that came after their lease.", counters.fenced);
  counter("cm_daemon_dedupe_history_pruned_total",
          "Duplicates whose message the broker has removed.", counters.history_pruned);
}

void write_inbox(DaemonMetricsText& text, DaemonService& service, const InboxCounts& counts) {
  const ReceiverCounters& counters = service.receiver.counters();
  const auto counter = [&](std::string_view name, std::string_view help,
                           const std::atomic<std::uint64_t>& value) {
    text.one(name, MetricKind::counter, help, static_cast<double>(value.load()));
  };
  text.one("cm_daemon_receiving", MetricKind::gauge, "1: connected to receive messages.",
           service.receiver.status().way != ReceiverStatus::Way::none ? 1 : 0);
  counter("cm_daemon_receive_connects_total", "Connections to receive messages.",
          counters.connects);
  counter("cm_daemon_recv_total", "Messages received.", counters.received);
  text.family("cm_daemon_dedupe_total", MetricKind::counter,
              "Messages that came again, and were absorbed.");
  text.value(metric_label("direction", "in"), static_cast<double>(counters.duplicates.load()));
  counter("cm_daemon_invalid_inbound_total", "What a broker sent and was not valid.",
          counters.invalid);
  counter("cm_daemon_inbox_pruned_total", "Messages whose text was removed because of its age.",
          counters.pruned);
  text.one("cm_daemon_inbox_rows", MetricKind::gauge, "Messages of the inbox.",
           static_cast<double>(counts.messages));
  text.one("cm_daemon_inbox_unread", MetricKind::gauge, "Messages that no program has seen.",
           static_cast<double>(counts.unread));
  text.one("cm_daemon_inbox_bytes", MetricKind::gauge, "Size of the inbox.",
           static_cast<double>(counts.bytes));
  text.one("cm_daemon_event_streams", MetricKind::gauge, "Streams of events that are open.",
           static_cast<double>(service.events.listeners()));
}

void write_requests(DaemonMetricsText& text, const DaemonCounters& counters) {
  text.family("cm_daemon_send_total", MetricKind::counter,
              "Messages handed over, by kind and status.");
  for (const auto& [key, count] : counters.sends()) {
    text.value(
        metric_label("kind", key.first) + "," + metric_label("status", std::to_string(key.second)),
        static_cast<double>(count));
  }
  text.family("cm_daemon_ipc_request_total", MetricKind::counter,
              "Requests, by endpoint, status and transport.");
  for (const auto& [key, count] : counters.requests()) {
    text.value(metric_label("endpoint", std::get<0>(key)) + "," +
                   metric_label("status", std::to_string(std::get<1>(key))) + "," +
                   metric_label("transport", std::get<2>(key)),
               static_cast<double>(count));
  }
  text.one("cm_daemon_local_token_rotations_total", MetricKind::counter,
           "Rotations of the local token.", static_cast<double>(counters.rotations()));
  text.one("cm_daemon_security_events_total", MetricKind::counter,
           "Requests with a token in their URL.", static_cast<double>(counters.security_events()));
}

}  // namespace

void DaemonCounters::answered(std::string_view operation, int status, std::string_view transport) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(operation), status, std::string(transport)}];
}
void DaemonCounters::sent(std::string_view kind, int status) {
  const std::lock_guard lock(mutex_);
  ++sends_[{std::string(kind), status}];
}
DaemonCounters::Requests DaemonCounters::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}
DaemonCounters::Sends DaemonCounters::sends() const {
  const std::lock_guard lock(mutex_);
  return sends_;
}

Result<DaemonReply> daemon_health(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  DaemonService& service = call.service;
  const DrainStatus status = service.drain.status();
  HOLDFAST_TRY(const OutboxCounts counts, service.outbox.counts());
  DaemonHealth health;
  health.connected = status.connected;
  if (!status.connected) {
    health.reasons.push_back("not connected to a broker: " + status.trouble);
  }
  if (status.paused) {
    health.reasons.emplace_back("the broker requires a pause");
  }
  const ReceiverStatus receiving = service.receiver.status();
  if (receiving.way == ReceiverStatus::Way::none && service.config.receive != ReceiveMode::off) {
    health.reasons.push_back("not receiving: " + receiving.trouble);
  }
  health.receiving = std::string(to_text(receiving.way));
  HOLDFAST_TRY(const InboxCounts inbox, service.inbox.counts());
  health.unread = inbox.unread;
  health.inbox_percent = inbox_percent(service.inbox, inbox);
  if (health.inbox_percent >= kHighPercent) {
    health.reasons.emplace_back(health.inbox_percent >= kFullPercent
                                    ? "the inbox has used up its space"
                                    : "the inbox has little space left");
  }
  health.outbox_percent = service.outbox.used_percent();
  if (health.outbox_percent >= kHighPercent) {
    health.reasons.emplace_back(health.outbox_percent >= kFullPercent
                                    ? "the outbox has used up its space"
                                    : "the outbox has little space left");
  }
  health.degraded = !health.reasons.empty();
  health.mesh = service.config.workspace;
  health.member = service.member.name;
  health.member_pubkey = service.member.pubkey;
  health.broker = status.broker;
  health.queue_depth = rows_of(counts, OutboxState::pending);
  health.inflight = rows_of(counts, OutboxState::inflight);
  health.dead = rows_of(counts, OutboxState::dead);
  health.lag_ms = static_cast<std::uint64_t>(oldest_ms(counts, service.clock.now()));
  health.uptime_s = static_cast<std::uint64_t>(
      (service.clock.now().value - service.started_at.value) / kUptimeUnitMs);
  health.pid = static_cast<std::uint64_t>(::getpid());
  health.daemon_version = service.version;
  return reply_with_view(health);
}

Result<DaemonReply> daemon_version(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  const DrainStatus status = call.service.drain.status();
  DaemonVersion version;
  version.daemon_version = call.service.version;
  version.ipc_api = "v1";
  version.ipc_features = ipc_features();
  version.schema_version = tables_of(outbox_file_kind());
  version.mesh = call.service.config.workspace;
  version.max_age_hours = static_cast<std::uint64_t>(status.max_age_ms / kWindowUnitMs);
  version.inline_bytes = status.inline_bytes;
  return reply_with_view(version);
}

Result<DaemonReply> daemon_compat(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return reply_with_view(DaemonCompat{{"v1"},
                                      ipc_features(),
                                      needed_features().require,
                                      kEnvelopeVersion,
                                      tables_of(outbox_file_kind()),
                                      tables_of(inbox_file_kind())});
}

Result<DaemonReply> caller_heartbeat(DaemonCall& call) {
  HOLDFAST_CHECK(read_json_body<EmptyRequest>(call));
  return reply_with_view(DaemonStopped{"ok"});
}

Result<DaemonReply> daemon_metrics(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const OutboxCounts counts, call.service.outbox.counts());
  DaemonMetricsText text(call.service.config.workspace);
  HOLDFAST_TRY(const InboxCounts inbox, call.service.inbox.counts());
  write_outbox(text, call.service, counts, inbox);
  write_drain(text, call.service);
  write_inbox(text, call.service, inbox);
  write_requests(text, call.service.counters);
  return DaemonReply{200, std::move(text).take(), "text/plain; version=0.0.4"};
}

Result<DaemonReply> daemon_openapi(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return DaemonReply{200, std::string(kDaemonDocument)};
}

std::string new_local_token(Random& random) {
  std::array<std::byte, 32> bytes{};
  random.fill(bytes);
  return to_base64url(bytes);
}

// The file first: a caller that reads it must find a token that is accepted soon.
Result<DaemonReply> rotate_local_token(DaemonCall& call) {
  HOLDFAST_CHECK(read_json_body<EmptyRequest>(call));
  const std::string fresh = new_local_token(call.service.random);
  HOLDFAST_CHECK(call.service.folder.write("local_token", fresh + "\n"));
  call.service.access.rotate(fresh, call.service.clock.now().value);
  call.service.counters.rotated();
  return reply_with_view(DaemonStopped{"rotated"});
}

Result<DaemonReply> reload_daemon(DaemonCall& call) {
  HOLDFAST_CHECK(read_json_body<EmptyRequest>(call));
  HOLDFAST_TRY(auto restart_for, call.service.reload());
  return reply_with_view(DaemonReloaded{"reloaded", std::move(restart_for)});
}

Result<DaemonReply> stop_daemon(DaemonCall& call) {
  HOLDFAST_CHECK(read_json_body<EmptyRequest>(call));
  call.service.stop();
  return reply_with_view(DaemonStopped{"stopping"});
}

}  // namespace holdfast::delivery

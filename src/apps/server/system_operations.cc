// The server itself: health, metrics, API description, events.
#include <fmt/format.h>
#include <sys/resource.h>

#include "apps/server/openapi.h"
#include "apps/server/queue_view.h"
#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "apps/server/server_problem.h"

namespace holdfast {

namespace {

using Kind = MetricsText::Kind;

void write_queues(MetricsText& text, const std::vector<QueueView>& queues, TimeMs now) {
  text.family("holdfast_queue_attempts", Kind::gauge, "Attempts in a queue, by state.");
  for (const QueueView& queue : queues) {
    const HandlerView total = queue.total();
    const std::string label = metric_label("queue", queue.name);
    const auto write = [&](std::string_view state, std::size_t count) {
      text.value(label + "," + metric_label("state", state), static_cast<double>(count));
    };
    write("visible", total.visible - total.expired);
    write("scheduled", total.later);
    write("held_back", total.held_back);
    write("expired", total.expired);
    write("claimed", queue.claimed);
    write("sleeping", queue.sleeping);
  }
  text.family("holdfast_queue_oldest_age_seconds", Kind::gauge,
              "Age of the oldest visible attempt.");
  for (const QueueView& queue : queues) {
    const std::int64_t age = now.value - queue.total().oldest_at.value_or(now).value;
    text.value(metric_label("queue", queue.name),
               static_cast<double>(std::max<std::int64_t>(0, age)) / 1000);
  }
  text.family("holdfast_open_circuits", Kind::gauge, "Open circuit breakers, by queue.");
  for (const QueueView& queue : queues) {
    text.value(metric_label("queue", queue.name), static_cast<double>(queue.open_circuits));
  }
  text.family("holdfast_anomalies", Kind::gauge, "Facts that violated a rule, by queue.");
  for (const QueueView& queue : queues) {
    text.value(metric_label("queue", queue.name), static_cast<double>(queue.anomalies));
  }
}

void write_gauge(MetricsText& text, std::string_view name, std::string_view help, double value) {
  text.family(name, Kind::gauge, help);
  text.value("", value);
}

void write_gauges(MetricsText& text, const Gauges& gauges, TimeMs now) {
  write_gauge(text, "holdfast_runs_live", "Runs that have not ended.",
              static_cast<double>(gauges.live_runs));
  write_gauge(text, "holdfast_manual_waits", "Steps that wait for a decision.",
              static_cast<double>(gauges.manual_waits));
  write_gauge(text, "holdfast_parked_steps", "Steps whose last attempt failed and that wait.",
              static_cast<double>(gauges.parked_steps));
  write_gauge(text, "holdfast_exhausted_attempts",
              "Attempts that failed their run and that nothing was decided about.",
              static_cast<double>(gauges.exhausted_attempts));
  write_gauge(text, "holdfast_log_position", "Position of the newest batch.",
              static_cast<double>(gauges.position));
  text.family("holdfast_runs_ended", Kind::gauge, "Ended runs of the store, by status.");
  text.value(metric_label("status", "completed"), static_cast<double>(gauges.ended.completed));
  text.value(metric_label("status", "failed"), static_cast<double>(gauges.ended.failed));
  text.value(metric_label("status", "cancelled"), static_cast<double>(gauges.ended.cancelled));
  text.value(metric_label("status", "continued"), static_cast<double>(gauges.ended.continued));
  write_queues(text, gauges.queues, now);
  const std::int64_t age = std::max<std::int64_t>(0, now.value - gauges.at.value);
  write_gauge(text, "holdfast_gauges_age_seconds",
              "Age of the numbers of runs and queues: 0 unless the store accepts no writes.",
              static_cast<double>(age) / 1000);
}

std::string metrics_text(Service& service) {
  MetricsText text;
  service.metrics.write(text);
  if (const auto gauges = service.gauges.get()) {
    write_gauges(text, *gauges, service.clock.now());
  }
  const auto gauge = [&](std::string_view name, std::string_view help, double value) {
    write_gauge(text, name, help, value);
  };
  gauge("holdfast_write_pending_seconds", "How long the store has not accepted a pending write.",
        static_cast<double>(service.loop.health().write_pending.count()) / 1000);
  gauge("holdfast_polls_waiting", "Calls of workers that wait for attempts.",
        static_cast<double>(service.polls.waiting()));
  gauge("holdfast_event_listeners", "Open event streams.",
        static_cast<double>(service.events.listeners()));
  const net::Counters http = service.http();
  gauge("holdfast_http_connections", "Open connections.", static_cast<double>(http.open));
  text.family("holdfast_http_connections_total", Kind::counter, "Connections, by outcome.");
  text.value(metric_label("outcome", "accepted"), static_cast<double>(http.accepted));
  text.value(metric_label("outcome", "refused"), static_cast<double>(http.refused));
  text.family("holdfast_http_malformed_total", Kind::counter,
              "Requests that were malformed, too large or too slow.");
  text.value("", static_cast<double>(http.malformed));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  text.family("process_cpu_seconds_total", Kind::counter, "CPU time of the process.");
  text.value("", seconds(usage.ru_utime) + seconds(usage.ru_stime));
  gauge("process_max_resident_memory_bytes", "Peak resident memory.",
        static_cast<double>(usage.ru_maxrss) * 1024);
  gauge("process_start_time_seconds", "Start time of the process.",
        static_cast<double>(service.started_at.value) / 1000);
  return std::move(text).take();
}

Result<Gauges> read_gauges(Turn& turn) {
  Gauges gauges;
  gauges.queues = queue_views(turn, "");
  gauges.live_runs = turn.state().runs().count();
  gauges.position = turn.state().position().value;
  gauges.ended = turn.state().runs().ended_counts();
  gauges.manual_waits = turn.state().runs().manual_waits().size();
  gauges.parked_steps = turn.state().runs().parked_count();
  gauges.exhausted_attempts = turn.state().runs().exhausted_count();
  gauges.at = turn.now();
  return gauges;
}

void answer_metrics(const CallPtr& call) {
  net::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = metrics_text(call->service);
  call->answer(std::move(response));
}

// Why requests cannot be executed now; empty when they can. Without the text of the store's error,
// which names hosts and users and is in the log.
std::string why_not_ready(Service& service) {
  // Longer than a working disk needs.
  constexpr std::chrono::milliseconds kStuck{2000};
  const LoopHealth health = service.loop.health();
  if (health.state == LoopHealth::State::stopped) {
    return public_error(*health.why).text();
  }
  if (service.draining) {
    return "the server is stopping";
  }
  if (health.state == LoopHealth::State::recovering) {
    return fmt::format("the store has been unavailable ({}) for {} s; the server keeps trying",
                       error_info(health.why->code()).name, health.since.count() / 1000);
  }
  return health.write_pending < kStuck ? std::string()
                                       : fmt::format("the store has not accepted a write for {} s",
                                                     health.write_pending.count() / 1000);
}

std::optional<BackendCounts> backend_counts(const Service& service) {
  if (service.leases == nullptr) {
    return std::nullopt;
  }
  BackendCounts counts;
  for (const LeaseHealth& health : service.leases->health()) {
    ++counts.bound;
    counts.unreachable += health.why.has_value() ? 1U : 0U;
  }
  return counts;
}

struct EventRequest {
  EventFilter filter;
  EventCursor after;
};

Error unknown_cursor(const std::string& cursor) {
  return Error{ErrorCode::invalid_argument,
               "the journal has no position \"" + cursor + "\"; 0 is its beginning"}
      .with("field", "after");
}

Result<EventRequest> event_request(Call& call) {
  // Not those of the path: `run` is also a query parameter.
  HOLDFAST_TRY(const EventsRequest given, call.query.read<EventsRequest>());
  EventRequest request;
  request.filter.kinds.insert(given.kinds.begin(), given.kinds.end());
  for (const std::string& workflow : given.workflows) {
    HOLDFAST_CHECK(check_workflow(call.caller, workflow));
    request.filter.workflows.insert(workflow);
  }
  for (const std::string& run : given.runs) {
    HOLDFAST_TRY(const RunId id, parse_run_id(run));
    request.filter.runs.insert(to_string(id));
  }
  request.filter.thread = given.thread;
  if (request.filter.workflows.empty()) {
    for (const SharedText& workflow : call.caller.workflows) {
      request.filter.workflows.insert(workflow.str());
    }
  }
  std::string after = std::string(call.request().header("Last-Event-ID"));
  after = after.empty() ? given.after : after;
  if (after.empty()) {
    request.after = EventCursor{call.service.events.head()};
    return request;
  }
  const auto cursor = EventCursor::parse(after);
  if (!cursor.has_value()) {
    return unknown_cursor(after);
  }
  request.after = *cursor;
  return request;
}

void begin_stream(const CallPtr& call, const EventRequest& request) {
  net::Response head;
  head.content_type = "text/event-stream";
  head.headers.push_back({"Cache-Control", "no-store"});
  call->service.events.listen(call->exchange->stream(std::move(head)), request.filter,
                              request.after, [call] { call->note(200); });
}

void stream(const CallPtr& call, const EventRequest& request) {
  if (call->service.draining) {
    constexpr std::string_view kWhy = "the server is stopping";
    return call->fail(Error{ErrorCode::unavailable, std::string(kWhy)}.with("detail", kWhy));
  }
  if (request.after.position <= call->service.events.head()) {
    return begin_stream(call, request);
  }
  // Another server, which has seen more of the journal, may have sent the cursor.
  read(call, [call, request]() -> Result<void> {
    HOLDFAST_TRY(const StoreState state, call->service.loop.journal().log().refresh());
    if (state.head < request.after.position) {
      return unknown_cursor(std::to_string(request.after.position.value));
    }
    begin_stream(call, request);
    return {};
  });
}

}  // namespace

void get_health(const CallPtr& call) { call->answer_json(response_json(HealthResponse{})); }

void get_readiness(const CallPtr& call) {
  ReadinessResponse response;
  response.reason = why_not_ready(call->service);
  response.ready = response.reason.empty();
  response.backends = backend_counts(call->service);
  call->answer_json(response_json(response), response.ready ? 200 : 503);
}

void get_openapi(const CallPtr& call) { call->answer_json(kOpenapiDocument); }

Result<void> get_metrics(const CallPtr& call) {
  HOLDFAST_CHECK(call->query.finish());
  Service& service = call->service;
  const auto answered = std::make_shared<std::atomic<bool>>(false);
  const auto answer = [call, answered] {
    if (!answered->exchange(true)) {
      answer_metrics(call);
    }
  };
  if (service.loop.health().write_pending >= kLoopPatience) {
    answer();
    return {};
  }
  const Alarm::Ticket patience = service.alarm.after(kLoopPatience, answer);
  service.loop.submit<Gauges>(read_gauges, [call, answer, patience](Result<Gauges> gauges) {
    call->service.alarm.cancel(patience);
    if (gauges.ok()) {
      call->service.gauges.put(std::make_shared<const Gauges>(std::move(gauges).value()));
    }
    answer();
  });
  return {};
}

Result<void> get_server(const CallPtr& call) {
  HOLDFAST_CHECK(call->query.finish());
  Service& service = call->service;
  ServerResponse response;
  response.version = service.version;
  response.store = service.store;
  response.started_at = service.started_at;
  response.position = service.events.head().value;
  response.draining = service.draining;
  response.you = {call->caller.name, call->caller.role};
  call->answer_json(response_json(response));
  return {};
}

Result<void> stream_events(const CallPtr& call) {
  HOLDFAST_TRY(const EventRequest request, event_request(*call));
  stream(call, request);
  return {};
}

Result<void> stream_run_events(const CallPtr& call) {
  HOLDFAST_TRY(const EventRequest request, event_request(*call));
  with_run(call, [call, request](const RunId& run) {
    read(call, [call, run, request]() -> Result<void> {
      HOLDFAST_TRY(const Revision revision, call->service.loop.journal().revision(run_thread(run)));
      if (revision == Revision{0}) {
        return Error{ErrorCode::run_not_found, "there is no run " + to_string(run)}.with(
            "run_id", to_string(run));
      }
      EventRequest only = request;
      only.filter.runs = {to_string(run)};
      stream(call, only);
      return {};
    });
  });
  return {};
}

}  // namespace holdfast

#include "runs/view/run_snapshot.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/encoding.h"
#include "runs/language/data/path.h"
#include "runs/run/redact.h"
#include "runs/view/deadline.h"
#include "runs/view/step_state.h"

namespace holdfast {

namespace {

JsonText json_of(const Payload& payload) {
  return JsonText::trusted(payload.empty() ? "null" : std::string(redact(payload).view()));
}

void text_member(JsonWriter& json, std::string_view name, const SharedText& text) {
  if (!text.empty()) {
    json.member(name, text.view());
  }
}

void payload_member(JsonWriter& json, std::string_view name, const Payload& payload) {
  if (!payload.empty()) {
    json.member(name, json_of(payload));
  }
}

// Writes the members of a list of numbers that differ from the default.
struct MemberWriter {
  JsonWriter& json;

  void optional(std::string_view name, std::uint64_t value) {
    if (value != 0) {
      json.member(name, value);
    }
  }
};

// Enough to compare, not enough to use.
void digest_member(JsonWriter& json, std::string_view name, const SharedText& secret) {
  if (secret.empty()) {
    return;
  }
  json.key(name).begin_object();
  json.member("algorithm", "sha256");
  json.member("digest", to_hex(sha256(secret.view())));
  json.member("bytes", std::uint64_t{secret.view().size()});
  json.end_object();
}

// A member of an object, as the slice it stands in.
std::optional<std::string_view> find_member(std::string_view object, std::string_view name) {
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    if (member->name == name) {
      return member->value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> parent_slice(const RunProjection& run) {
  const bool known = run.started().has_value() && !run.started()->context.empty();
  return known ? find_member(run.started()->context.view(), "parent") : std::nullopt;
}

// Writes one snapshot, part by part.
class Snapshot {
 public:
  explicit Snapshot(const RunSource& source)
      : source_(source), run_(*source.run), attempts_(attempts_of(source)) {}

  JsonText write() && {
    json_.begin_object();
    write_identity();
    write_outcome();
    write_relatives();
    write_waits();
    write_steps();
    write_plans();
    write_attempts();
    write_attempt_sets();
    write_commands();
    write_anomalies();
    json_.key("revisions").begin_object();
    json_.member("run", run_.revision().value);
    json_.member("log_position", source_.position.value);
    json_.end_object();
    json_.key("as_of").begin_object().member("position", source_.position.value);
    json_.member("time", source_.now.value).end_object().end_object();
    return std::move(json_).take_text();
  }

 private:
  void write_identity() {
    json_.member("run_id", to_string(run_.run_id()));
    json_.member("status", to_text(run_.status()));
    json_.member("terminal", run_.is_terminal());
    if (!run_.started().has_value()) {
      return;
    }
    const RunStarted& started = *run_.started();
    const PinnedDefinition pinned = run_.pinned_definition();
    json_.member("workflow", started.workflow.view());
    json_.member("queue", started.queue.empty() ? kDefaultQueue : started.queue.view());
    text_member(json_, "trigger", started.trigger);
    json_.member("started_at", run_.started_at().value);
    json_.key("definition").begin_object();
    text_member(json_, "version", pinned.version);
    text_member(json_, "fingerprint", pinned.fingerprint);
    json_.member("known", run_.definition() != nullptr);
    json_.end_object();
    json_.member("input", json_of(started.input));
    json_.member("context", json_of(run_.context()));
    json_.key("search_attributes").begin_object();
    for (const auto& [name, value] : run_.attributes()) {
      json_.member(name, json_of(redact(name, value)));
    }
    json_.end_object();
  }

  void write_outcome() {
    if (run_.is_terminal()) {
      json_.member("ended_at", run_.terminal_at().value);
      payload_member(json_, "error", run_.terminal()->error);
      payload_member(json_, "result", run_.terminal()->result);
    }
    if (run_.compensation().has_value()) {
      json_.key("compensation").begin_object();
      json_.member("outcome", to_text(run_.compensation()->outcome));
      payload_member(json_, "error", run_.compensation()->error);
      json_.end_object();
    }
    if (run_.archived().has_value()) {
      json_.key("archived").begin_object();
      json_.member("at", run_.archived_at().value);
      json_.member("reason", run_.archived()->reason.view());
      json_.end_object();
    }
  }

  void write_relatives() {
    if (const auto parent = parent_slice(run_)) {
      json_.member("parent", JsonText::trusted(std::string(*parent)));
    }
    if (run_.started().has_value() && !run_.started()->replayed_from_run_id.empty()) {
      json_.member("replayed_from", to_string(run_.started()->replayed_from_run_id));
    }
    if (run_.continued_from().has_value()) {
      json_.member("continued_from", to_string(run_.continued_from()->predecessor_run_id));
    }
    if (run_.continuation().has_value()) {
      json_.member("continued_as", to_string(run_.continuation()->successor_run_id));
    }
    json_.key("children").begin_array();
    for (const auto& [id, child] : run_.children()) {
      json_.begin_object();
      json_.member("run_id", to_string(id));
      json_.member("workflow", child.child_workflow.view());
      json_.member("key", child.child_key.view());
      json_.member("step", child.origin.step.view());
      json_.end_object();
    }
    json_.end_array();
  }

  void write_boundary(const ManualState& manual) {
    json_.begin_object();
    json_.member("step", manual.step.view());
    json_.member("kind", to_text(manual.kind));
    json_.member("paused_at", manual.paused_at.value);
    text_member(json_, "reason", manual.reason);
    payload_member(json_, "metadata", manual.metadata);
    payload_member(json_, "deadline", manual.deadline);
    json_.end_object();
  }

  void write_waits() {
    if (const auto manual = run_.manual_state()) {
      json_.key("manual_state");
      write_boundary(*manual);
      json_.key("boundaries").begin_array();
      for (const auto& [step, state] : run_.boundaries()) {
        write_boundary(state);
      }
      json_.end_array();
    }
    json_.key("event_waits").begin_array();
    for (const auto& [id, wait] : run_.waits()) {
      json_.begin_object();
      json_.member("wait_id", id);
      json_.member("step", wait.opened.step.view());
      json_.member("event", wait.opened.event.view());
      json_.member("status", to_text(wait.status));
      json_.member("opened_at", wait.opened.opened_at.value);
      digest_member(json_, "correlation", wait.opened.correlation);
      digest_member(json_, "idempotency_key", wait.idempotency_key);
      if (wait.opened.timeout.has_value()) {
        json_.member("due_at", wait.opened.timeout->due_at.value);
      }
      json_.end_object();
    }
    json_.end_array();
    if (run_.graph().version > 0) {
      json_.member("graph_version", run_.graph().version);
    }
  }

  void write_steps() {
    json_.key("steps").begin_array();
    for (const StepState& state : step_states(source_, attempts_)) {
      json_.begin_object();
      json_.member("name", state.step.view());
      json_.member("status", state.status);
      json_.member("attempts", std::uint64_t{state.attempts});
      payload_member(json_, "result", state.result);
      payload_member(json_, "error", state.error);
      json_.end_object();
    }
    json_.end_array();
  }

  // How urgent an open step is. It is only shown; nothing happens when it passes.
  void write_deadline(const PlannedRunnable& runnable) {
    const auto known = deadline_of(runnable.plan);
    if (!known.has_value()) {
      return;
    }
    const Deadline& deadline = *known;
    const TimeMs at = runnable.applied ? runnable.applied_at : source_.now;
    json_.key("deadline").begin_object();
    json_.member("status", deadline.status(at));
    json_.member("due_at", deadline.due_at.value);
    json_.member("due_soon_at", deadline.due_soon_at.value);
    json_.member("escalated_at", deadline.escalated_at.value);
    json_.member("remaining_ms", deadline.due_at.value - at.value);
    json_.member("overdue", at >= deadline.due_at);
    text_member(json_, "escalation", deadline.escalation);
    text_member(json_, "target", deadline.target);
    json_.end_object();
  }

  void write_plans() {
    const auto runnables = run_.runnables();
    json_.key("planned_runnables").begin_array();
    for (const PlannedRunnable* runnable : runnables) {
      json_.begin_object();
      json_.member("runnable_key", runnable->plan.runnable_key.view());
      json_.member("step", runnable->plan.step.view());
      json_.member("attempt_number", std::uint64_t{runnable->plan.attempt_number});
      json_.member("visible_at", runnable->plan.visible_at.value);
      if (runnable->plan.deferred.has_value()) {
        json_.member("deferred_from", runnable->plan.deferred->from_runnable_key.view());
        text_member(json_, "deferred_because", runnable->plan.deferred->reason);
      }
      text_member(json_, "path", runnable->plan.path);
      write_deadline(*runnable);
      payload_member(json_, "recovery", runnable->plan.recovery);
      json_.end_object();
    }
    json_.end_array();
    json_.key("applied_runnables").begin_array();
    for (const PlannedRunnable* runnable : runnables) {
      if (runnable->applied) {
        json_.begin_object();
        json_.member("runnable_key", runnable->plan.runnable_key.view());
        json_.member("applied_at", runnable->applied_at.value);
        payload_member(json_, "result", runnable->result);
        text_member(json_, "output_key", runnable->output_key);
        payload_member(json_, "transition", runnable->transition);
        if (runnable->withdrawn) {
          json_.member("withdrawn", true);
        }
        json_.end_object();
      }
    }
    json_.end_array();
    std::set<SharedText> known;
    for (const KnownAttempt& attempt : attempts_) {
      known.insert(attempt.attempt->runnable_key);
    }
    json_.key("pending_dispatches").begin_array();
    for (const PlannedRunnable* runnable : runnables) {
      if (!runnable->applied && !runnable->plan.is_internal() && !run_.is_terminal() &&
          !known.contains(runnable->plan.runnable_key)) {
        json_.string(runnable->plan.runnable_key.view());
      }
    }
    json_.end_array();
  }

  void write_attempts() {
    json_.key("attempts").begin_array();
    for (const KnownAttempt& known : attempts_) {
      write_attempt(*known.attempt, known.queue);
    }
    json_.end_array();
  }

  void write_attempt(const Attempt& attempt, const SharedText& queue) {
    json_.begin_object();
    json_.member("runnable_key", attempt.runnable_key.view());
    json_.member("idempotency_key", attempt.idempotency_key.view());
    json_.member("step", attempt.step.view());
    json_.member("handler", attempt.handler.view());
    json_.member("queue", queue.view());
    json_.member("attempt_number", std::uint64_t{attempt.attempt_number});
    json_.member("status", to_text(attempt.status));
    json_.member("scheduled_at", attempt.scheduled_at.value);
    json_.member("visible_at", attempt.visible_at.value);
    MemberWriter options{json_};
    ClaimOptions::visit(attempt.options, options);
    if (attempt.claim) {
      json_.key("claim").begin_object();
      json_.member("claim_id", attempt.claim->claim_id.view());
      json_.member("owner_id", attempt.claim->owner_id.view());
      json_.member("claimed_at", attempt.claim->claimed_at.value);
      json_.member("lease_until", attempt.claim->lease_until.value);
      payload_member(json_, "progress", attempt.claim->progress);
      json_.end_object();
    }
    if (attempt.outcome) {
      json_.member("ended_at", attempt.outcome->at.value);
      payload_member(json_, "result", attempt.outcome->result);
      payload_member(json_, "error", attempt.outcome->error);
      payload_member(json_, "execution_opts", attempt.outcome->execution_opts);
      payload_member(json_, "details", attempt.outcome->details);
    }
    json_.member("applied", attempt.applied);
    json_.end_object();
  }

  template <typename Test>
  void write_keys(std::string_view name, Test test) {
    json_.key(name).begin_array();
    for (const KnownAttempt& known : attempts_) {
      if (!run_.is_terminal() && test(*known.attempt)) {
        json_.string(known.attempt->runnable_key.view());
      }
    }
    json_.end_array();
  }

  void write_attempt_sets() {
    const TimeMs now = source_.now;
    write_keys("pending_results", is_unapplied);
    write_keys("visible_attempts", [&](const Attempt& it) { return is_visible(it, now); });
    write_keys("scheduled_attempts", [&](const Attempt& it) { return is_scheduled(it, now); });
    write_keys("expired_attempts", [&](const Attempt& it) { return is_expired(it, now); });
    std::optional<TimeMs> next;
    for (const KnownAttempt& known : attempts_) {
      if (!run_.is_terminal() && is_scheduled(*known.attempt, now)) {
        next = std::min(next.value_or(known.attempt->visible_at), known.attempt->visible_at);
      }
    }
    if (next.has_value()) {
      json_.member("next_visible_at", next->value);
    }
  }

  void write_commands() {
    json_.key("commands").begin_array();
    for (const Receipt& receipt : run_.receipts()) {
      json_.begin_object();
      json_.member("signal_type", to_text(receipt.signal.signal_type));
      json_.member("at", receipt.at.value);
      text_member(json_, "source", receipt.signal.source);
      text_member(json_, "actor", receipt.signal.actor);
      text_member(json_, "comment", receipt.signal.comment);
      digest_member(json_, "idempotency_key", receipt.signal.idempotency_key);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_anomaly(std::string_view source, const Anomaly& anomaly) {
    json_.begin_object();
    json_.member("source", source);
    json_.member("reason", anomaly.reason.view());
    json_.member("entry_type", anomaly.entry_type.view());
    json_.member("at", anomaly.at.value);
    text_member(json_, "step", anomaly.step);
    text_member(json_, "runnable_key", anomaly.runnable_key);
    text_member(json_, "claim_id", anomaly.claim_id);
    text_member(json_, "detail", anomaly.detail);
    json_.end_object();
  }

  void write_anomalies() {
    json_.key("anomalies").begin_array();
    for (const Anomaly& anomaly : run_.anomalies()) {
      write_anomaly("workflow", anomaly);
    }
    for (const DispatchProjection* queue : source_.queues) {
      for (const Anomaly& anomaly : queue->anomalies()) {
        if (anomaly.run_id == run_.run_id()) {
          write_anomaly("dispatch", anomaly);
        }
      }
    }
    json_.end_array();
  }

  const RunSource& source_;
  const RunProjection& run_;
  std::vector<KnownAttempt> attempts_;
  JsonWriter json_;
};

}  // namespace

RunId parent_of(const RunProjection& run) {
  RunId parent;
  if (const auto slice = parent_slice(run)) {
    const auto id = find_member(*slice, "run_id");
    if (id.has_value() && !read_value(*id, parent)) {
      return {};
    }
  }
  return parent;
}

JsonText run_snapshot(const RunSource& source) { return Snapshot(source).write(); }

}  // namespace holdfast

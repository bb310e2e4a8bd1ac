#include "runs/view/run_snapshot.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/encoding.h"
#include "runs/language/data/path.h"
#include "runs/run/redact.h"
#include "runs/view/deadline.h"
#include "runs/view/run_graph.h"
#include "runs/view/step_state.h"

namespace holdfast {

namespace {

JsonText json_of(const Payload& payload) {
  return JsonText::trusted(payload.empty() ? "null" : std::string(redact(payload).view()));
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
  json.object(name, [&] {
    json.member("algorithm", "sha256").member("digest", to_hex(sha256(secret.view())));
    json.member("bytes", std::uint64_t{secret.view().size()});
  });
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
    json_.object("revisions", [&] {
      json_.member("run", run_.revision().value).member("log_position", source_.position.value);
    });
    json_.object("as_of", [&] {
      json_.member("position", source_.position.value).member("time", source_.now);
    });
    return std::move(json_.end_object()).take_text();
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
    json_.optional("trigger", started.trigger.view());
    json_.member("started_at", run_.started_at());
    json_.object("definition", [&] {
      json_.optional("version", pinned.version.view());
      json_.optional("fingerprint", pinned.fingerprint.view());
      json_.member("known", run_.definition() != nullptr);
    });
    json_.member("input", json_of(started.input)).member("context", json_of(run_.context()));
    json_.object("search_attributes", [&] {
      for (const auto& [name, value] : run_.attributes()) {
        json_.member(name, json_of(redact(name, value)));
      }
    });
  }

  void write_outcome() {
    if (run_.is_terminal()) {
      json_.member("ended_at", run_.terminal_at());
      payload_member(json_, "error", run_.terminal()->error);
      payload_member(json_, "result", run_.terminal()->result);
    }
    if (run_.compensation().has_value()) {
      json_.object("compensation", [&] {
        json_.member("outcome", to_text(run_.compensation()->outcome));
        payload_member(json_, "error", run_.compensation()->error);
      });
    }
    if (run_.archived().has_value()) {
      json_.object("archived", [&] {
        json_.member("at", run_.archived_at()).member("reason", run_.archived()->reason.view());
      });
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
    json_.objects("children", run_.children(), [&](const auto& child) {
      const ChildRunStarted& link = child.second;
      json_.member("run_id", to_string(child.first));
      json_.member("workflow", link.child_workflow.view()).member("key", link.child_key.view());
      json_.member("step", link.origin.step.view());
    });
  }

  void write_boundary(const ManualState& manual) {
    json_.member("step", manual.step.view()).member("kind", to_text(manual.kind));
    json_.member("paused_at", manual.paused_at);
    json_.optional("reason", manual.reason.view());
    payload_member(json_, "metadata", manual.metadata);
    payload_member(json_, "deadline", manual.deadline);
    json_.optional("runnable_key", manual.runnable_key.view());
    payload_member(json_, "error", manual.error);
  }

  void write_waits() {
    if (const auto manual = run_.manual_state()) {
      json_.object("manual_state", [&] { write_boundary(*manual); });
      json_.objects("boundaries", run_.boundaries(),
                    [&](const auto& boundary) { write_boundary(boundary.second); });
    }
    json_.objects("event_waits", run_.waits(), [&](const auto& known) {
      const EventWait& wait = known.second;
      json_.member("wait_id", known.first).member("step", wait.opened.step.view());
      json_.member("event", wait.opened.event.view()).member("status", to_text(wait.status));
      json_.member("opened_at", wait.opened.opened_at);
      digest_member(json_, "correlation", wait.opened.correlation);
      digest_member(json_, "idempotency_key", wait.idempotency_key);
      if (wait.opened.timeout.has_value()) {
        json_.member("due_at", wait.opened.timeout->due_at);
      }
    });
    if (run_.graph().version > 0) {
      json_.member("graph_version", run_.graph().version);
      write_mutations();
    }
  }

  // Oldest first.
  void write_mutations() {
    std::map<std::uint64_t, const DynamicGraphMutated*> by_version;
    for (const auto& [id, mutation] : run_.graph_mutations()) {
      by_version.emplace(mutation.result_version, &mutation);
    }
    json_.key("graph_mutations").begin_array();
    for (const auto& [version, mutation] : by_version) {
      const AddedBy by = added_by(*mutation);
      json_.begin_object().member("mutation_id", by.mutation_id).member("version", version);
      if (!by.step.empty()) {
        json_.member("step", by.step);
      }
      if (!by.actor.empty()) {
        json_.member("actor", by.actor);
      }
      json_.member("added", std::uint64_t{mutation->additions.size()});
      json_.member("removed", std::uint64_t{mutation->removals.size()});
      json_.end_object();
    }
    json_.end_array();
  }

  void write_steps() {
    json_.objects("steps", step_states(source_, attempts_), [&](const StepState& state) {
      json_.member("name", state.step.view()).member("status", to_text(state.status));
      json_.member("attempts", state.attempts);
      payload_member(json_, "result", state.result);
      payload_member(json_, "error", state.error);
    });
  }

  // How urgent an open step is. It is only shown; nothing happens when it passes.
  void write_deadline(const PlannedRunnable& runnable) {
    const auto known = deadline_of(runnable.plan);
    if (!known.has_value()) {
      return;
    }
    const Deadline& deadline = *known;
    const TimeMs at = runnable.applied ? runnable.applied_at : source_.now;
    json_.object("deadline", [&] {
      json_.member("status", to_text(deadline.status(at))).member("due_at", deadline.due_at);
      json_.member("due_soon_at", deadline.due_soon_at);
      json_.member("escalated_at", deadline.escalated_at);
      json_.member("remaining_ms", deadline.due_at.value - at.value);
      json_.member("overdue", at >= deadline.due_at);
      json_.optional("escalation", deadline.escalation.view());
      json_.optional("target", deadline.target.view());
    });
  }

  void write_plan(const PlannedRunnable& runnable) {
    const Runnable& plan = runnable.plan;
    json_.member("runnable_key", plan.runnable_key.view()).member("step", plan.step.view());
    json_.member("attempt_number", plan.attempt_number).member("visible_at", plan.visible_at);
    if (plan.deferred.has_value()) {
      json_.member("deferred_from", plan.deferred->from_runnable_key.view());
      json_.optional("deferred_because", plan.deferred->reason.view());
    }
    json_.optional("path", plan.path.view());
    write_deadline(runnable);
    payload_member(json_, "recovery", plan.recovery);
  }

  void write_applied(const PlannedRunnable& runnable) {
    json_.member("runnable_key", runnable.plan.runnable_key.view());
    json_.member("applied_at", runnable.applied_at);
    payload_member(json_, "result", runnable.result);
    json_.optional("output_key", runnable.output_key.view());
    payload_member(json_, "transition", runnable.transition);
    if (runnable.withdrawn) {
      json_.member("withdrawn", true);
    }
  }

  void write_plans() {
    auto runnables = run_.runnables();
    json_.objects("planned_runnables", runnables,
                  [&](const PlannedRunnable* runnable) { write_plan(*runnable); });
    const auto open =
        std::stable_partition(runnables.begin(), runnables.end(),
                              [](const PlannedRunnable* runnable) { return runnable->applied; });
    json_.objects("applied_runnables", std::span(runnables.begin(), open),
                  [&](const PlannedRunnable* runnable) { write_applied(*runnable); });
    std::set<SharedText> known;
    for (const KnownAttempt& attempt : attempts_) {
      known.insert(attempt.attempt->runnable_key);
    }
    json_.list("pending_dispatches", std::span(open, runnables.end()),
               [&](const PlannedRunnable* runnable) {
                 if (!runnable->plan.is_internal() && !run_.is_terminal() &&
                     !known.contains(runnable->plan.runnable_key)) {
                   json_.string(runnable->plan.runnable_key.view());
                 }
               });
  }

  void write_attempts() {
    json_.objects("attempts", attempts_,
                  [&](const KnownAttempt& known) { write_attempt(*known.attempt, known.queue); });
  }

  void write_attempt(const Attempt& attempt, const SharedText& queue) {
    json_.member("runnable_key", attempt.runnable_key.view());
    json_.member("idempotency_key", attempt.idempotency_key.view());
    json_.member("step", attempt.step.view()).member("handler", attempt.handler.view());
    json_.member("queue", queue.view()).member("attempt_number", attempt.attempt_number);
    json_.member("status", to_text(attempt.status)).member("scheduled_at", attempt.scheduled_at);
    json_.member("visible_at", attempt.visible_at);
    MemberWriter options{json_};
    ClaimOptions::visit(attempt.options, options);
    if (attempt.claim) {
      const Claim& claim = *attempt.claim;
      json_.object("claim", [&] {
        json_.member("claim_id", claim.claim_id.view()).member("owner_id", claim.owner_id.view());
        json_.member("claimed_at", claim.claimed_at).member("lease_until", claim.lease_until);
        payload_member(json_, "progress", claim.progress);
      });
    }
    if (attempt.outcome) {
      json_.member("ended_at", attempt.outcome->at);
      payload_member(json_, "result", attempt.outcome->result);
      payload_member(json_, "error", attempt.outcome->error);
      payload_member(json_, "execution_opts", attempt.outcome->execution_opts);
      payload_member(json_, "details", attempt.outcome->details);
    }
    json_.member("applied", attempt.applied);
  }

  template <typename Test>
  void write_keys(std::string_view name, Test test) {
    json_.list(name, attempts_, [&](const KnownAttempt& known) {
      if (!run_.is_terminal() && test(*known.attempt)) {
        json_.string(known.attempt->runnable_key.view());
      }
    });
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
    json_.optional("next_visible_at", next);
  }

  void write_commands() {
    json_.objects("commands", run_.receipts(), [&](const Receipt& receipt) {
      json_.member("signal_type", to_text(receipt.signal.signal_type)).member("at", receipt.at);
      json_.optional("source", receipt.signal.source.view());
      json_.optional("actor", receipt.signal.actor.view());
      json_.optional("comment", receipt.signal.comment.view());
      digest_member(json_, "idempotency_key", receipt.signal.idempotency_key);
    });
  }

  void write_anomaly(std::string_view source, const Anomaly& anomaly) {
    json_.begin_object();
    json_.member("source", source).member("reason", anomaly.reason.view());
    json_.member("entry_type", anomaly.entry_type.view()).member("at", anomaly.at);
    json_.optional("step", anomaly.step.view());
    json_.optional("runnable_key", anomaly.runnable_key.view());
    json_.optional("claim_id", anomaly.claim_id.view());
    json_.optional("detail", anomaly.detail.view());
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

#include "runs/view/explanation.h"

#include <algorithm>
#include <map>

#include "runs/view/causes.h"
#include "runs/view/deadline.h"

namespace holdfast {

namespace {

// What the explanation rests on.
class Evidence {
 public:
  explicit Evidence(const RunSource& source)
      : source_(source), run_(*source.run), attempts_(attempts_of(source)) {}

  Payload write() && {
    json_.begin_object().object("revisions", [&] {
      json_.member("run", run_.revision().value).member("log_position", source_.position.value);
    });
    write_runnables();
    write_attempts();
    write_timers();
    write_commands();
    write_deadlines();
    json_.member("anomalies", count_anomalies());
    json_.end_object();
    return std::move(json_).take_text();
  }

 private:
  using Counts = std::map<std::string_view, std::uint64_t>;
  void write_counts(std::string_view name, const Counts& counts) {
    json_.object(name, [&] {
      for (const auto& [what, count] : counts) {
        json_.member(what, count);
      }
    });
  }

  void write_runnables() {
    std::uint64_t applied = 0;
    for (const PlannedRunnable* planned : run_.runnables()) {
      applied += planned->applied ? 1 : 0;
    }
    json_.member("planned_runnables", std::uint64_t{run_.runnable_count()});
    json_.member("applied_runnables", applied);
    json_.member("open_steps", std::uint64_t{run_.open_count()});
  }

  void write_attempts() {
    Counts counts;
    for (const KnownAttempt& known : attempts_) {
      if (!known.attempt->is_timer()) {
        counts[to_text(known.attempt->status)] += 1;
      }
    }
    write_counts("attempts", counts);
  }

  void write_timers() {
    json_.list("timers", attempts_, [&](const KnownAttempt& known) {
      const Attempt& timer = *known.attempt;
      if (timer.is_timer() && !timer.ended() && !timer.applied && !run_.is_terminal()) {
        json_.begin_object().member("step", timer.step.view());
        json_.member("runnable_key", timer.runnable_key.view());
        json_.member("at", timer.visible_at).end_object();
      }
    });
  }

  // A command that came twice under its key is stored once; what is here really happened.
  void write_commands() {
    Counts counts;
    for (const Receipt& receipt : run_.receipts()) {
      counts[to_text(receipt.signal.signal_type)] += 1;
    }
    write_counts("commands", counts);
  }

  void write_deadlines() {
    json_.list("deadlines", run_.runnables(), [&](const PlannedRunnable* planned) {
      const auto deadline = planned->applied ? std::nullopt : deadline_of(planned->plan);
      if (deadline.has_value()) {
        json_.begin_object().member("step", planned->plan.step.view());
        json_.member("status", to_text(deadline->status(source_.now)));
        json_.member("due_at", deadline->due_at).end_object();
      }
    });
  }

  [[nodiscard]] std::uint64_t count_anomalies() const {
    std::uint64_t count = run_.anomalies().size();
    for (const DispatchProjection* queue : source_.queues) {
      count += static_cast<std::uint64_t>(std::count_if(
          queue->anomalies().begin(), queue->anomalies().end(),
          [this](const Anomaly& anomaly) { return anomaly.run_id == run_.run_id(); }));
    }
    return count;
  }

  const RunSource& source_;
  const RunProjection& run_;
  std::vector<KnownAttempt> attempts_;
  JsonWriter json_;
};

void write_actions(JsonWriter& json, const std::vector<NextAction>& actions) {
  json.objects("next_actions", actions, [&](const NextAction& action) {
    json.member("action", action.action).member("summary", action.summary);
    json.optional("command", action.command).optional("at", action.at);
  });
}

void write_causes(JsonWriter& json, const std::vector<Cause>& causes) {
  json.objects("causes", causes, [&](const Cause& cause) {
    json.member("waits_for", cause.waits_for).member("reason", to_text(cause.reason));
    json.optional("step", cause.step).optional("run_id", cause.run_id);
    json.member("summary", cause.summary);
    json.optional("since", cause.since).optional("until", cause.until);
    write_actions(json, cause.next_actions);
    if (!cause.causes.empty()) {
      write_causes(json, cause.causes);
    }
    if (cause.omitted > 0) {
      json.member("omitted", cause.omitted);
    }
  });
}

}  // namespace

Result<Explanation> explain_run(const RunSource& source, const FindRun& find) {
  const RunProjection& run = *source.run;
  Explanation explanation;
  explanation.run_id = to_string(run.run_id());
  explanation.status = to_text(run.status());
  explanation.terminal = run.is_terminal();
  if (run.started().has_value()) {
    explanation.workflow = run.started()->workflow.str();
    explanation.version = run.pinned_definition().version.str();
    explanation.queue =
        run.started()->queue.empty() ? std::string(kDefaultQueue) : run.started()->queue.str();
  }
  HOLDFAST_TRY(explanation.causes, CauseFinder(source, find, 0).find());
  const Cause& reason = *most_important(explanation.causes);
  explanation.reason = reason.reason;
  explanation.step = reason.step;
  explanation.summary = reason.summary;
  explanation.next_actions = reason.next_actions;
  if (run.is_compensating()) {
    explanation.summary = "is compensating: it " + explanation.summary;
  }
  explanation.evidence = Evidence(source).write();
  explanation.position = source.position;
  explanation.now = source.now;
  return explanation;
}

const Cause* main_cause(const Explanation& explanation) {
  return most_important(explanation.causes);
}

JsonText to_json(const Explanation& explanation) {
  JsonWriter json;
  json.begin_object().member("run_id", explanation.run_id);
  json.member("workflow", explanation.workflow).optional("version", explanation.version);
  json.member("queue", explanation.queue).member("status", explanation.status);
  json.member("terminal", explanation.terminal).member("reason", to_text(explanation.reason));
  json.optional("step", explanation.step).member("summary", explanation.summary);
  write_actions(json, explanation.next_actions);
  write_causes(json, explanation.causes);
  json.member("evidence", JsonText::trusted(std::string(explanation.evidence.view())));
  if (!explanation.backends.empty()) {
    json.member("backends", JsonText::trusted(std::string(explanation.backends.view())));
  }
  json.object("as_of", [&] {
    json.member("position", explanation.position.value).member("time", explanation.now);
  });
  return std::move(json.end_object()).take_text();
}

}  // namespace holdfast

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
    json_.begin_object();
    write_revisions();
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
  void write_revisions() {
    json_.key("revisions").begin_object();
    json_.member("run", run_.revision().value);
    json_.member("log_position", source_.position.value);
    json_.end_object();
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
    std::map<std::string, std::uint64_t> counts;
    for (const KnownAttempt& known : attempts_) {
      if (!known.attempt->is_timer()) {
        counts[std::string(to_text(known.attempt->status))] += 1;
      }
    }
    json_.key("attempts").begin_object();
    for (const auto& [status, count] : counts) {
      json_.member(status, count);
    }
    json_.end_object();
  }

  void write_timers() {
    json_.key("timers").begin_array();
    for (const KnownAttempt& known : attempts_) {
      const Attempt& timer = *known.attempt;
      if (timer.is_timer() && !timer.ended() && !timer.applied && !run_.is_terminal()) {
        json_.begin_object();
        json_.member("step", timer.step.view());
        json_.member("runnable_key", timer.runnable_key.view());
        json_.member("at", timer.visible_at.value);
        json_.end_object();
      }
    }
    json_.end_array();
  }

  // A command that came twice under its key is stored once; what is here really happened.
  void write_commands() {
    std::map<std::string, std::uint64_t> counts;
    for (const Receipt& receipt : run_.receipts()) {
      counts[std::string(to_text(receipt.signal.signal_type))] += 1;
    }
    json_.key("commands").begin_object();
    for (const auto& [type, count] : counts) {
      json_.member(type, count);
    }
    json_.end_object();
  }

  void write_deadlines() {
    json_.key("deadlines").begin_array();
    for (const PlannedRunnable* planned : run_.runnables()) {
      const auto deadline = planned->applied ? std::nullopt : deadline_of(planned->plan);
      if (deadline.has_value()) {
        json_.begin_object();
        json_.member("step", planned->plan.step.view());
        json_.member("status", deadline->status(source_.now));
        json_.member("due_at", deadline->due_at.value);
        json_.end_object();
      }
    }
    json_.end_array();
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
  json.key("next_actions").begin_array();
  for (const NextAction& action : actions) {
    json.begin_object();
    json.member("action", action.action);
    json.member("summary", action.summary);
    if (!action.command.empty()) {
      json.member("command", action.command);
    }
    if (action.at.has_value()) {
      json.member("at", action.at->value);
    }
    json.end_object();
  }
  json.end_array();
}

void write_causes(JsonWriter& json, const std::vector<Cause>& causes) {
  json.key("causes").begin_array();
  for (const Cause& cause : causes) {
    json.begin_object();
    json.member("waits_for", cause.waits_for);
    json.member("reason", to_text(cause.reason));
    if (!cause.step.empty()) {
      json.member("step", cause.step);
    }
    if (!cause.run_id.empty()) {
      json.member("run_id", cause.run_id);
    }
    json.member("summary", cause.summary);
    if (cause.since.has_value()) {
      json.member("since", cause.since->value);
    }
    if (cause.until.has_value()) {
      json.member("until", cause.until->value);
    }
    write_actions(json, cause.next_actions);
    if (!cause.causes.empty()) {
      write_causes(json, cause.causes);
    }
    if (cause.omitted > 0) {
      json.member("omitted", cause.omitted);
    }
    json.end_object();
  }
  json.end_array();
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
  json.begin_object();
  json.member("run_id", explanation.run_id);
  json.member("workflow", explanation.workflow);
  if (!explanation.version.empty()) {
    json.member("version", explanation.version);
  }
  json.member("queue", explanation.queue);
  json.member("status", explanation.status);
  json.member("terminal", explanation.terminal);
  json.member("reason", to_text(explanation.reason));
  if (!explanation.step.empty()) {
    json.member("step", explanation.step);
  }
  json.member("summary", explanation.summary);
  write_actions(json, explanation.next_actions);
  write_causes(json, explanation.causes);
  json.member("evidence", JsonText::trusted(std::string(explanation.evidence.view())));
  json.key("as_of").begin_object();
  json.member("position", explanation.position.value);
  json.member("time", explanation.now.value);
  json.end_object().end_object();
  return std::move(json).take_text();
}

}  // namespace holdfast

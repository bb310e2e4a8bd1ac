#include "runs/inspect/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runs/view/deadline.h"
#include "runs/view/view_attempts.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxFindings = 20;
constexpr std::int64_t kOverdueMs = 60'000;
constexpr const char* kWork = "holdfast work";

class Doctor {
 public:
  Doctor(LiveState& state, const Moment& moment) : state_(state), moment_(moment) {
    diagnosis_.moment = moment;
    diagnosis_.live_runs = state.runs().count();
    using Verdict = Check::Verdict;
    const auto check = [&](const char* name, const char* question, Verdict when_found) {
      diagnosis_.checks.push_back({name, question, when_found});
    };
    check("wake_up_sources", "runs that nothing will advance", Verdict::fault);
    check("definitions", "runs whose definition is not stored", Verdict::fault);
    check("unfinished_facts", "steps that a writer left unfinished", Verdict::fault);
    check("expired_claims", "attempts whose worker was lost", Verdict::fault);
    check("overdue_attempts", "attempts that no worker claimed for a minute", Verdict::warning);
    check("overdue_timers", "timers that no engine process has handled for a minute",
          Verdict::warning);
    check("manual_intervention", "runs that wait for a person", Verdict::warning);
    check("deadlines", "steps that are past their deadline", Verdict::warning);
    check("anomalies", "facts that violated a rule and were ignored", Verdict::warning);
  }

  Result<Diagnosis> look() && {
    HOLDFAST_CHECK(look_at_pending_recovery());
    for (const auto& [name, queue] : state_.queues().all()) {
      look_at_queue(*queue);
    }
    auto runs = state_.runs().ids();
    std::sort(runs.begin(), runs.end());
    for (const RunId& id : runs) {
      HOLDFAST_CHECK(look_at_run(id));
      state_.trim();
    }
    return std::move(diagnosis_);
  }

 private:
  void found(std::string_view name, Finding finding) {
    const auto check = std::find_if(diagnosis_.checks.begin(), diagnosis_.checks.end(),
                                    [&](const Check& candidate) { return candidate.name == name; });
    ++check->count;
    if (check->findings.size() < kMaxFindings) {
      check->findings.push_back(std::move(finding));
    }
  }

  Result<void> look_at_pending_recovery() {
    const PendingRecovery& pending = state_.pending_recovery();
    for (const auto& [key, run] : pending.unscheduled) {
      found("unfinished_facts",
            {to_string(run), step_of_key(key.view()),
             fmt::format("{} is planned but not in a queue", key.view()), kWork});
    }
    look_at_reports("result", pending.unapplied);
    look_at_reports("failure", pending.unprogressed);
    for (const auto& [child, link] : pending.children) {
      // It may have been started and ended since.
      HOLDFAST_TRY(const auto started, source_of(child));
      if (!started.has_value()) {
        found("unfinished_facts",
              {to_string(link.run_id), link.origin.step.str(),
               fmt::format("child run {} is linked but was not started", to_string(child)), kWork});
      }
    }
    return {};
  }

  void look_at_reports(std::string_view what, const std::map<SharedText, SharedText>& reports) {
    for (const auto& [key, queue] : reports) {
      const Attempt* attempt = state_.queues().get(queue).find(key.view());
      found("unfinished_facts",
            {attempt == nullptr ? "" : to_string(attempt->run_id),
             attempt == nullptr ? "" : attempt->step.str(),
             fmt::format("the {} of {} is stored, but the run did not continue", what, key.view()),
             kWork});
    }
  }

  void look_at_queue(const DispatchProjection& queue) {
    for (const Attempt* attempt : queue.attempts()) {
      if (!attempt->ended() && !attempt->applied && state_.runs().is_live(attempt->run_id)) {
        look_at_attempt(*attempt, queue.queue());
      }
    }
    for (const Anomaly& anomaly : queue.anomalies()) {
      found("anomalies", {anomaly.run_id.empty() ? "" : to_string(anomaly.run_id), "",
                          fmt::format("queue {}: {} ({})", queue.queue().view(),
                                      anomaly.reason.view(), anomaly.entry_type.view()),
                          anomaly.run_id.empty() ? "" : show(anomaly.run_id)});
    }
  }

  void look_at_attempt(const Attempt& attempt, const SharedText& queue) {
    const std::string run = to_string(attempt.run_id);
    const std::string step = attempt.step.str();
    if (is_expired(attempt, moment_.now)) {
      found("expired_claims",
            {run, step,
             fmt::format("{} held it until {}; no worker of queue {} took it over",
                         attempt.claim->owner_id.view(), format_time(attempt.claim->lease_until),
                         queue.view()),
             explain(attempt.run_id)});
    } else if (is_visible(attempt, moment_.now) &&
               moment_.now.value - attempt.visible_at.value >= kOverdueMs) {
      found(
          attempt.is_timer() ? "overdue_timers" : "overdue_attempts",
          {run, step,
           attempt.is_timer()
               ? fmt::format("was due at {}", format_time(attempt.visible_at))
               : fmt::format("waits for a worker of queue {} with handler {} since {}",
                             queue.view(), attempt.handler.view(), format_time(attempt.visible_at)),
           attempt.is_timer() ? std::string(kWork) : explain(attempt.run_id)});
    }
  }

  Result<std::optional<RunSource>> source_of(const RunId& id) {
    auto run = state_.runs().get(id);
    if (!run.ok()) {
      return run.error().code() == ErrorCode::run_not_found
                 ? Result<std::optional<RunSource>>(std::nullopt)
                 : Result<std::optional<RunSource>>(run.error());
    }
    RunSource source{run.value(), {}, moment_.position, moment_.now};
    source.queues = state_.queues().about(id);
    return std::optional(std::move(source));
  }

  Result<void> look_at_run(const RunId& id) {
    HOLDFAST_TRY(const auto source, source_of(id));
    if (!source.has_value()) {
      return {};
    }
    const RunProjection& run = *source->run;
    HOLDFAST_TRY(const Explanation why,
                 explain_run(*source, [this](const RunId& other) { return source_of(other); }));
    const std::string text = to_string(id);
    if (run.definition() == nullptr) {
      found("definitions", {text, "", why.summary, explain(id)});
    }
    if (why.reason >= Reason::idle) {
      found("wake_up_sources", {text, "", why.summary, explain(id)});
    }
    for (const auto& [step, boundary] : run.boundaries()) {
      // An explanation does not list everything.
      const auto cause =
          std::find_if(why.causes.begin(), why.causes.end(),
                       [&, &name = step](const Cause& one) { return one.step == name.view(); });
      const bool listed = cause != why.causes.end() && !cause->next_actions.empty();
      found(
          "manual_intervention",
          {text, step.str(),
           listed ? cause->summary : fmt::format("waits since {}", format_time(boundary.paused_at)),
           listed ? cause->next_actions.front().command : explain(id)});
    }
    for (const PlannedRunnable* planned : run.runnables()) {
      const auto deadline = planned->applied ? std::nullopt : deadline_of(planned->plan);
      if (deadline.has_value() && moment_.now >= deadline->due_at) {
        found("deadlines",
              {text, planned->plan.step.str(),
               fmt::format("was due at {}", format_time(deadline->due_at)), explain(id)});
      }
    }
    for (const Anomaly& anomaly : run.anomalies()) {
      found("anomalies",
            {text, anomaly.step.str(),
             fmt::format("{} ({})", anomaly.reason.view(), anomaly.entry_type.view()), show(id)});
    }
    return {};
  }

  static std::string explain(const RunId& id) { return "holdfast explain " + to_string(id); }
  static std::string show(const RunId& id) { return "holdfast show " + to_string(id); }

  LiveState& state_;
  Moment moment_;
  Diagnosis diagnosis_;
};

}  // namespace

Check::Verdict Diagnosis::verdict() const {
  Check::Verdict worst = Check::Verdict::ok;
  for (const Check& check : checks) {
    worst = std::max(worst, check.verdict());
  }
  return worst;
}

Result<Diagnosis> diagnose(LiveState& state, const Moment& moment) {
  return Doctor(state, moment).look();
}

JsonText to_json(const Diagnosis& diagnosis) {
  JsonWriter json;
  json.begin_object().member("schema_version", std::uint64_t{1});
  json.member("verdict", to_text(diagnosis.verdict())).member("live_runs", diagnosis.live_runs);
  json.objects("checks", diagnosis.checks, [&](const Check& check) {
    json.member("name", check.name).member("question", check.question);
    json.member("verdict", to_text(check.verdict())).member("count", check.count);
    json.objects("findings", check.findings, [&](const Finding& finding) {
      json.optional("run_id", finding.run_id).optional("step", finding.step);
      json.optional("summary", finding.summary).optional("command", finding.command);
    });
  });
  write_moment(json, "as_of", diagnosis.moment);
  return std::move(json.end_object()).take_text();
}

}  // namespace holdfast

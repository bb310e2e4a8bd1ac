// The expected answers to clients and workers, at the point where they were decided.
//
// Guarantees: a report counts only with the fence of the current claim and before its lease
// expires; a worker that lost its claim gets the reason; the same report gets the same answer
// again; a repeated command has the same result, and a different command under the same key is a
// conflict; the effect of a command that was answered ok is durable with its batch; an assignment
// is the next attempt in the order of the queue, under the idempotency key of its visit or item.
#include <algorithm>

#include "lab/sim/oracle_model.h"

namespace holdfast::sim::model {

namespace {

using Codes = std::set<std::string>;

class AnswerCheck {
 public:
  AnswerCheck(OracleModel& model, const Answer& answer)
      : model_(model),
        answer_(answer),
        params_(Value::parse(answer.params)),
        result_(Value::parse(answer.result)),
        at_(answer.at.value) {
    const auto run = model.runs.find(params_["run_id"].string());
    run_ = run == model.runs.end() || !run->second.is_started() ? nullptr : &run->second;
    const auto attempt = model.attempts.find(params_["runnable_key"].string());
    attempt_ = attempt == model.attempts.end() ? nullptr : &attempt->second;
  }

  void run() {
    static const Codes store_codes{"",         "conflict",       "busy",      "unavailable",
                                   "io_error", "engine_stopped", "disk_full", "log_stopped"};
    if (store_codes.contains(answer_.code)) {
      return;  // the store refused, not the rules
    }
    using What = Answer::What;
    static const std::map<What, void (AnswerCheck::*)()> checks{
        {What::start, &AnswerCheck::start},
        {What::claim, &AnswerCheck::claim},
        {What::heartbeat, &AnswerCheck::report},
        {What::complete, &AnswerCheck::report},
        {What::fail, &AnswerCheck::report},
        {What::event, &AnswerCheck::event},
        {What::resolve, &AnswerCheck::resolve},
        {What::cancel, &AnswerCheck::cancel},
        {What::replay, &AnswerCheck::replay},
        {What::redrive, &AnswerCheck::dead_letter},
        {What::discard, &AnswerCheck::dead_letter},
        {What::delivery, &AnswerCheck::delivery},
        {What::migrate, &AnswerCheck::migrate},
        {What::schedule, &AnswerCheck::schedule},
        {What::close_circuit, &AnswerCheck::close_circuit}};
    static const std::set<What> of_runs{What::event,   What::resolve, What::cancel, What::replay,
                                        What::redrive, What::discard, What::migrate};
    const auto check = checks.find(answer_.what);
    if (run_ == nullptr && of_runs.contains(answer_.what)) {
      expect({"run_not_found"}, "answer", "the run does not exist");
    } else if (check != checks.end()) {
      (this->*check->second)();
    }
  }

 private:
  [[nodiscard]] bool ok() const { return answer_.code == "ok"; }

  bool expect(const Codes& codes, const std::string& guarantee, const std::string& because) {
    std::string expected;
    for (const std::string& code : codes) {
      expected += (expected.empty() ? "" : " or ") + code;
    }
    return model_.check(
        codes.contains(answer_.code), guarantee,
        answer_.params + " was answered " + answer_.code + ", not " + expected + ": " + because);
  }

  // The effect of a command that was answered ok must be durable when the batch ends.
  void durable(const std::string& what, std::function<bool(const OracleModel&)> holds) {
    model_.acknowledged.push_back({model_.location + " " + what, std::move(holds)});
  }

  void start() {
    const std::string id = params_["run_id"].string();
    if (run_ == nullptr) {
      if (ok()) {
        const std::string given = result_.has("run_id") ? result_["run_id"].string() : id;
        model_.check(given == id || id.empty(), "answer", "a run with another id was started");
        durable("the run " + given, [given](const OracleModel& model) {
          const auto found = model.runs.find(given);
          return found != model.runs.end() && found->second.is_started();
        });
      } else {
        const bool known = model_.workflows.contains(params_["workflow"].string());
        expect(known ? Codes{"invalid_payload", "invalid_trigger", "invalid_argument"}
                     : Codes{"unknown_workflow"},
               "answer", known ? "the workflow is known" : "the workflow is not known");
      }
      return;
    }
    const bool same = run_->workflow == params_["workflow"].string() &&
                      run_->started["input"] == params_["input"];
    if (!same) {
      expect({"run_exists", "idempotency_conflict", "ok"}, "repeat",
             "the run was started with another workflow or input");
      const bool defaults = run_->definition != nullptr && run_->definition->spec.has("triggers");
      model_.check(!ok() || defaults, "repeat",
                   "the run was started with another workflow or input");
      return;
    }
    const auto current = model_.workflows.find(run_->workflow);
    const bool moved = current == model_.workflows.end() ||
                       current->second != run_->started["definition_fingerprint"].string();
    expect(moved ? Codes{"ok", "run_exists"} : Codes{"ok"}, "repeat",
           "the run was started with the same workflow and input");
  }

  void delivery() {
    const std::string workflow = params_["workflow"].string();
    if (!model_.workflows.contains(workflow)) {
      expect({"unknown_workflow"}, "answer", "the workflow is not known");
      return;
    }
    const std::string trigger = params_["trigger"].string();
    const bool paused = model_.paused.contains(workflow + "/" + trigger);
    if (trigger == "each") {  // the trigger of the scenario that does not count deliveries
      uncounted_delivery(paused);
      return;
    }
    const std::string given = params_["signal_id"].string();
    const std::string window = window_name(
        workflow, trigger, given.empty() ? signal_of_window(workflow, trigger, params_) : given);
    const auto known = model_.windows.find(window);
    if (known == model_.windows.end()) {
      expect({"ok"}, "delivery", "the window has no run yet");
      if (paused) {
        no_run("the schedule is paused");
        return;
      }
      model_.check(!ok() || result_["result"].string() == "started", "delivery",
                   "the run of a window that has none was not started");
      durable("the delivery of " + window,
              [window, run = result_["run_id"].string(), wanted = ok()](const OracleModel& model) {
                const auto found = model.windows.find(window);
                return !wanted || (found != model.windows.end() && found->second.run == run);
              });
      return;
    }
    const bool same = known->second.time["start_at"] == params_["start_at"] &&
                      known->second.time["end_at"] == params_["end_at"];
    expect({same ? "ok" : "idempotency_conflict"}, "delivery",
           same ? "the window was delivered before" : "the signal id is that of another window");
    const std::string result = trigger == "once" ? "skipped" : "existing";
    model_.check(!ok() || (result_["run_id"].string() == known->second.run &&
                           result_["result"].string() == result),
                 "delivery", "the window has run " + known->second.run);
  }

  void no_run(const std::string& because) {
    model_.check(!ok() || (result_["result"].string() == "paused" &&
                           !model_.runs.contains(result_["run_id"].string())),
                 "paused", "a delivery was answered " + answer_.result + ", but " + because);
  }

  // Each starts a run of its own.
  void uncounted_delivery(bool paused) {
    expect({"ok"}, "delivery", "every delivery starts a run");
    if (paused) {
      no_run("the schedule is paused");
      return;
    }
    const std::string run = result_["run_id"].string();
    model_.check(!ok() || (result_["result"].string() == "started" && !model_.runs.contains(run)),
                 "delivery", "a delivery that is not counted started no run of its own");
    durable("the delivery that started " + run, [run, wanted = ok()](const OracleModel& model) {
      const auto found = model.runs.find(run);
      return !wanted || (found != model.runs.end() && found->second.is_started());
    });
  }

  void schedule() {
    const std::string name = params_["workflow"].string() + "/" + params_["trigger"].string();
    const bool paused = params_["paused"].boolean();
    if (ok()) {
      durable("the pause of " + name, [name, paused](const OracleModel& model) {
        // A later command of the same batch may have reversed it.
        return model.paused.contains(name) == paused || model.changed_schedules.contains(name);
      });
    }
  }

  void close_circuit() {
    const std::string type = " " + params_["workflow"].string() + " " + params_["step"].string();
    std::set<std::string> open;
    for (const auto& [name, circuit] : model_.circuits) {
      if (circuit.open && name.ends_with(type)) {
        open.insert(name);
      }
    }
    if (!ok()) {
      model_.check(open.empty(), "circuit",
                   "an open circuit breaker was not closed: " + answer_.code);
      return;
    }
    std::set<std::string> closed;
    for (const Value& queue : result_["closed"].list()) {
      closed.insert(queue.string() + type);
    }
    model_.check(closed == open, "circuit",
                 "an operator closed " + result_["closed"].text() + ", but " +
                     std::to_string(open.size()) + " are open");
    model_.requested_resets.insert(closed.begin(), closed.end());
    durable("closing" + type, [closed](const OracleModel& model) {
      return std::includes(model.resets.begin(), model.resets.end(), closed.begin(), closed.end());
    });
  }

  // All executions of one visit or item of a step have one key, and no other work has it.
  void one_key(const Attempt& attempt, const std::string& key) {
    const std::string work = attempt.run + ":" + attempt.intent["step"].string();
    const auto known = model_.key_of.emplace(work, key).first;
    model_.check(known->second == key, "idempotency_key",
                 work + " is executed under key " + key + ", earlier under " + known->second);
    const auto other = model_.work_of.emplace(key, work).first;
    model_.check(other->second == work, "idempotency_key",
                 key + " is the key of both " + work + " and " + other->second);
  }

  // Checked when the attempt is assigned, after its fact.
  void claim() {
    if (!ok() || result_.is_null()) {
      return;
    }
    const std::string key = result_["runnable_key"].string();
    const std::string id = result_["claim_id"].string();
    const auto found = model_.attempts.find(key);
    if (!model_.check(found != model_.attempts.end(), "assignment", key + " was never scheduled")) {
      return;
    }
    const Attempt& attempt = found->second;
    const auto same = [&](const std::string& name, const Value& expected) {
      model_.check(!result_.has(name) || result_[name] == expected, "assignment",
                   key + ": " + name + " is " + result_[name].text() + ", not " + expected.text());
    };
    if (result_.has("idempotency_key")) {
      one_key(attempt, result_["idempotency_key"].string());
    }
    same("idempotency_key", attempt.intent["idempotency_key"]);
    same("run_id", attempt.run);
    same("queue", attempt.queue);
    same("step", attempt.intent["step"]);
    same("handler", attempt.handler());
    same("attempt_number", attempt.intent["attempt_number"]);
    same("input", attempt.intent["input"]);
    const auto held = std::find_if(attempt.claims.begin(), attempt.claims.end(),
                                   [&](const Claim& claim) { return claim.id == id; });
    if (!model_.check(held != attempt.claims.end(), "assignment",
                      key + " was assigned before its claim was durable")) {
      return;
    }
    same("lease_until", held->at + attempt.lease_ms());
    model_.check(attempt.handler() != "__timer__", "assignment",
                 "a timer was assigned to a worker");
    const auto passed = model_.passed_over.find(id);
    std::string before;
    for (const auto& [other, handler] : passed == model_.passed_over.end()
                                            ? std::map<std::string, std::string>()
                                            : passed->second) {
      const auto& able = params_["handlers"].list();
      if (able.empty() || std::find(able.begin(), able.end(), Value(handler)) != able.end()) {
        before = other;
      }
    }
    model_.check(before.empty(), "claim_order", key + " was assigned before " + before);
  }

  // A heartbeat, a result or a failure.
  void report() {
    const bool known = attempt_ != nullptr && attempt_->run == params_["run_id"].string();
    if (!known || run_ == nullptr) {
      expect({"unknown_runnable_intent", "run_not_found", "wrong_run"}, "answer",
             "the attempt was never scheduled");
      return;
    }
    const bool mine = !attempt_->claims.empty() &&
                      attempt_->claims.back().id == params_["claim_id"].string() &&
                      attempt_->claims.back().token_hash == params_["token_hash"].string();
    const bool repeats = mine && is_repeated();
    if (run_->has_ended()) {
      Codes codes{"terminal_run", "unknown_runnable_intent"};
      if (repeats) {
        codes.insert("ok");
      }
      if (!mine || attempt_->withdrawn || attempt_->outcome != Attempt::Outcome::none) {
        codes.insert("stale_claim");
      }
      expect(codes, "answer_late", "the run has ended");
    } else if (repeats) {
      expect({"ok"}, "repeat", "the same report was accepted before");
    } else if (mine && attempt_->outcome == Attempt::Outcome::completed &&
               answer_.what == Answer::What::complete) {
      expect({"conflicting_completion"}, "repeat", "the attempt was completed with another result");
    } else if (mine && was_rejected()) {
      expect({"ok", "stale_claim"}, "repeat", "the result was rejected and recorded as a failure");
    } else if (!mine || attempt_->withdrawn || attempt_->outcome != Attempt::Outcome::none) {
      expect({"stale_claim"}, "answer_stale", "the claim is not current");
    } else if (at_ >= attempt_->claims.back().lease_until) {
      expect({"expired_claim"}, "answer_expired",
             "the lease expired at " + std::to_string(attempt_->claims.back().lease_until));
    } else if (expect({"ok"}, "answer", "the claim is valid")) {
      accepted();
    }
  }

  // A result that could not be used became the failure of its step; the documents do not define the
  // answer to the same report after that.
  [[nodiscard]] bool was_rejected() const {
    const std::string& code = attempt_->error["code"].string();
    return answer_.what == Answer::What::complete &&
           attempt_->outcome == Attempt::Outcome::failed &&
           (code == "unsafe_continuation" || code == "invalid_output" ||
            code == "invalid_graph_mutation");
  }

  [[nodiscard]] bool is_repeated() const {
    if (answer_.what == Answer::What::complete) {
      return attempt_->outcome == Attempt::Outcome::completed &&
             attempt_->result == params_["result"];
    }
    return answer_.what == Answer::What::fail && attempt_->outcome == Attempt::Outcome::failed &&
           attempt_->error == params_["error"];
  }

  void accepted() {
    const std::string key = attempt_->key;
    const std::string id = params_["claim_id"].string();
    if (answer_.what == Answer::What::heartbeat) {
      const std::int64_t until = attempt_->claims.back().lease_until;
      const std::int64_t longest = at_ + attempt_->lease_ms();
      durable("the heartbeat of " + key, [=](const OracleModel& model) {
        const Claim& claim = model.attempts.at(key).claims.back();
        // A later heartbeat of the same group may have extended it further.
        return claim.id != id || claim.lease_until >= longest || longest <= until;
      });
      return;
    }
    if (answer_.what == Answer::What::fail) {
      model_.retryable[id] = params_["retryable"].boolean();
      if (params_.has("retry_after_ms")) {
        model_.retry_after[id] = params_["retry_after_ms"];
      }
    }
    durable("the outcome of " + key, [=](const OracleModel& model) {
      return model.attempts.at(key).outcome != Attempt::Outcome::none;
    });
  }

  void event() {
    const std::string key = params_["key"].string();
    const auto empty = [](const Value& text) { return text.string().empty(); };
    if (const auto known = run_->events.find(key); known != run_->events.end()) {
      const Value& before = known->second;
      const bool same = before["event"] == params_["event"] &&
                        before["payload"] == params_["payload"] &&
                        (before["correlation"] == params_["correlation"] ||
                         (empty(before["correlation"]) && empty(params_["correlation"])));
      expect(same ? Codes{"ok"} : Codes{"idempotency_conflict"}, "repeat",
             same ? "the same event was received before" : "the key was used for another event");
      return;
    }
    constexpr std::size_t kMostKept = 1000;
    if (run_->has_ended() || run_->is_compensating()) {
      expect({"terminal_run"}, "answer_late", "the run has ended or is compensating");
    } else if (run_->buffered.size() >= kMostKept) {
      expect({"ok", "too_large"}, "answer", "too many events are buffered");
    } else if (expect({"ok"}, "answer", "a live run receives events")) {
      const std::string id = run_->id;
      durable("the event " + key,
              [=](const OracleModel& model) { return model.runs.at(id).events.contains(key); });
    }
  }

  void resolve() {
    const std::string& step = params_["step"].string();
    const std::string& action = params_["action"].string();
    const std::string& key = params_["key"].string();
    const std::string type = command_of(action);
    if (const auto known = run_->commands.find(key);
        !key.empty() && known != run_->commands.end()) {
      const bool same = known->second["signal_type"].string() == type &&
                        (step.empty() || known->second["payload"]["step"].string() == step) &&
                        known->second["payload"]["input"] == params_["input"];
      expect(same ? Codes{"ok"} : Codes{"idempotency_conflict"}, "repeat",
             same ? "the same decision was made before" : "the key was used for another command");
      return;
    }
    const auto at = run_->manual.find(step);
    const bool there = at != run_->manual.end();
    Codes codes;
    if (there && !at->second.open && at->second.action == action) {
      codes.insert("ok");  // the same decision was made; under a new key the answer may also be
                           // that it is too late
      if (key.empty()) {
        expect(codes, "repeat", "the same decision was made before");
        return;
      }
    }
    if (run_->has_ended()) {
      codes.insert("terminal_run");
      if (there && key.empty() && at->second.earlier == action) {
        codes.insert("ok");  // a late repetition of that decision
      }
    } else if (there && at->second.open && fits(at->second.kind, action)) {
      const bool refused = !params_["input"].is_null() && !takes_input(*run_, at->second);
      codes = refused ? Codes{"invalid_argument"} : Codes{"ok"};
    } else {
      codes.insert("invalid_transition");
      if (waits_elsewhere(step)) {
        codes.insert("stale_manual_resolution");
      }
    }
    if (expect(codes, "answer", "that follows from where the run waits") && ok()) {
      const std::string id = run_->id;
      durable("the decision about " + step, [=](const OracleModel& model) {
        const Run& run = model.runs.at(id);
        return run.resolved.contains(step) || !run.manual.at(step).open;
      });
    }
  }

  static bool fits(const std::string& kind, const std::string& action) {
    return kind_for(action) == kind;
  }
  [[nodiscard]] bool waits_elsewhere(const std::string& step) const {
    const auto manual = [&](const auto& known) { return known.second.open && known.first != step; };
    const auto wait = [](const auto& known) { return known.second.is_open(); };
    return std::any_of(run_->manual.begin(), run_->manual.end(), manual) ||
           std::any_of(run_->waits.begin(), run_->waits.end(), wait);
  }

  void cancel() {
    const std::string& how = params_["how"].string();
    const std::string ends = run_->has_ended()         ? run_->terminal["status"].string()
                             : run_->is_compensating() ? run_->compensation["outcome"].string()
                                                       : "";
    if (!ends.empty() && (run_->has_ended() || how != "stop")) {
      expect(ends == "cancelled" ? Codes{"ok"} : Codes{"invalid_transition"},
             ends == "cancelled" ? "repeat" : "answer_late", "the run ends as " + ends);
      return;
    }
    if (expect({"ok"}, "answer", "the run has not ended")) {
      run_->cancel_how = how;
      const std::string id = run_->id;
      durable("the cancellation", [=](const OracleModel& model) {
        return model.runs.at(id).has_ended() || model.runs.at(id).is_compensating();
      });
    }
  }

  // The definition that a command names; empty: there is none of that name.
  [[nodiscard]] std::string named(const std::string& name) const {
    const auto newest = model_.workflows.find(run_->workflow);
    const std::string fingerprint = name != "newest"                   ? name
                                    : newest == model_.workflows.end() ? ""
                                                                       : newest->second;
    return model_.definitions.contains(fingerprint) ? fingerprint : "";
  }

  void migrate() {
    const std::string target = named(params_["to"].string());
    if (target.empty()) {
      // A process may know one by its fingerprint whose registration was lost.
      model_.check(!ok() || params_["to"].string() != "newest", "migration",
                   "the workflow has no definition");
    } else if (target == run_->fingerprint) {
      expect({"ok"}, "repeat", "the run follows the definition already");
    } else if (run_->has_ended()) {
      expect({"terminal_run"}, "answer_late", "the run has ended");
    } else if (run_->unmodelled.empty()) {
      const std::string problem = why_not_migrate(*run_, model_.definitions.at(target));
      if (expect({problem.empty() ? "ok" : "invalid_transition"}, "migration",
                 problem.empty() ? "the run could have come to where it is there" : problem) &&
          ok()) {
        durable("the migration", [id = run_->id, target](const OracleModel& model) {
          return model.runs.at(id).followed.contains(target);
        });
      }
    }
  }

  void replay() {
    const std::string& from = params_["from_step"].string();
    Codes codes;
    const std::string id = params_["new_run_id"].string();
    const auto known = model_.runs.find(id);
    const bool there = known != model_.runs.end() && known->second.is_started();
    const std::string on = named(params_["definition"].string());
    if (on.empty() && !params_["definition"].string().empty()) {
      if (ok() && !there) {
        model_.replayed_on[id] = params_["definition"].string();
      }
      return;  // as in migrate()
    }
    const Step* step = run_->definition == nullptr ? nullptr : run_->definition->find(from);
    if (!from.empty() && run_->definition != nullptr && step == nullptr) {
      codes = {"invalid_argument"};
    } else if (!from.empty() && run_->newest_of(from) == nullptr) {
      codes = {"invalid_transition"};
    } else {
      codes = {"ok"};
      if (there) {
        codes.insert("run_exists");
      }
      if (!params_["allow_irreversible"].boolean() && repeats_irreversible_step()) {
        codes = from.empty() ? Codes{"unsafe_replay"} : Codes{"ok", "unsafe_replay"};
      }
      if (!on.empty() && !from.empty() && run_->definition != nullptr &&
          !fits_replay(*run_, model_.definitions.at(on), from)) {
        codes.erase("ok");
        codes.erase("run_exists");
        codes.insert("invalid_transition");
      }
    }
    if (ok() && !on.empty() && !there) {
      model_.replayed_on[id] = on;
    }
    if (expect(codes, "replay", "that follows from the steps the run has executed") && ok()) {
      durable("the replay " + id, [=](const OracleModel& model) {
        return model.runs.contains(id) && model.runs.at(id).is_started();
      });
    }
  }

  void dead_letter() {
    const std::string action = answer_.what == Answer::What::redrive ? "redriven" : "discarded";
    const std::string id = params_["run_id"].string();
    const Value& known = run_->dead_letter;
    Codes codes{"invalid_transition"};
    if (run_->has_ended() && !run_->terminal.has("exhausted")) {
      codes = {"terminal_run"};
    } else if (run_->has_ended() && (known.is_null() || known["action"].string() == action)) {
      codes = {"ok"};
      if (known.is_null() && action == "redriven" && run_->definition != nullptr &&
          repeats_irreversible_step()) {
        codes.insert("unsafe_replay");
      }
    }
    if (!expect(codes, "dead_letter", "that follows from the end of the run") || !ok()) {
      return;
    }
    const std::string replay = result_["run_id"].string();
    model_.check(known.is_null() || known["replay_run_id"].string() == replay, "dead_letter",
                 "a second redrive started run " + replay);
    durable("the decision about the dead letter of " + id, [=](const OracleModel& model) {
      const Value& decided = model.runs.at(id).dead_letter;
      return decided["action"].string() == action && decided["replay_run_id"].string() == replay;
    });
  }

  [[nodiscard]] bool repeats_irreversible_step() const {
    for (const auto& [key, runnable] : run_->runnables) {
      const Step* step = run_->definition->find(runnable.name.base);
      if (step != nullptr && runnable.applied && !runnable.withdrawn &&
          !runnable.name.compensates &&
          (step->spec["irreversible"].boolean() || !step->spec["compensatable"].boolean(true))) {
        return true;
      }
    }
    return false;
  }

  OracleModel& model_;
  const Answer& answer_;
  Value params_;
  Value result_;
  std::int64_t at_;
  Run* run_ = nullptr;
  Attempt* attempt_ = nullptr;
};

}  // namespace

void OracleModel::check_answer(const Answer& answer) {
  location = "answer at " + std::to_string(answer.at.value);
  AnswerCheck(*this, answer).run();
}

}  // namespace holdfast::sim::model

// Attempts: what may happen to them, and who may report it.
//
// Guarantees: an attempt is scheduled as it was planned; it is claimed once it is visible, by one
// owner at a time, and only while its run is live; heartbeats and outcomes carry the fence of the
// current claim and arrive before its lease expires; it has one outcome; a failure is retried
// exactly when its step allows it, at a time that its policy allows, with the same idempotency key;
// timeouts are never enforced early.
#include "lab/sim/oracle_model.h"
#include "lab/sim/oracle_next_facts.h"
#include "lab/sim/oracle_values.h"

namespace holdfast::sim::model {

namespace {

constexpr std::int64_t kLeaseMs = 30'000;

// The members of an intent that must be as planned.
constexpr const char* kIntent[] = {
    "run_id", "runnable_key", "idempotency_key", "attempt_number",     "queue",   "step",
    "input",  "visible_at",   "handler",         "event_wait_timeout", "deadline"};

// Checks one fact about an attempt, then applies it to the model.
class AttemptFact {
 public:
  AttemptFact(OracleModel& model, const StoredFact& fact, const std::string& queue,
              const Value& data)
      : model_(model),
        fact_(fact),
        at_(fact.at.value),
        queue_(queue),
        data_(data),
        kind_(fact.kind),
        key_(data["runnable_key"].string()) {
    const auto run = model.runs.find(data["run_id"].string());
    run_ = run == model.runs.end() ? nullptr : &run->second;
    const auto attempt = model.attempts.find(key_);
    attempt_ = attempt == model.attempts.end() ? nullptr : &attempt->second;
  }

  void process() {
    if (!check(run_ != nullptr && run_->is_started(), "form", "its run does not exist")) {
      return;
    }
    if (kind_ == "run_queued") {
      check(!run_->queued || run_->queue != queue_, "listed", "the run is already in its queue");
      run_->queued = run_->queued || run_->queue == queue_;
      return;
    }
    check(!run_->has_ended(), "terminal_final", "the run has ended");
    if (kind_ == "attempt_scheduled") {
      scheduled();
      return;
    }
    if (!check(attempt_ != nullptr && attempt_->run == run_->id, "known_attempt",
               "the attempt was never scheduled")) {
      return;
    }
    check(attempt_->queue == queue_, "form", "the attempt belongs to queue " + attempt_->queue);
    if (kind_ == "attempt_claimed") {
      claimed();
    } else if (kind_ == "attempt_heartbeat") {
      heartbeat();
    } else if (kind_ == "attempt_completed") {
      completed();
    } else if (kind_ == "attempt_failed") {
      failed();
    } else if (kind_.starts_with("circuit_")) {
      model_.circuit_fact(fact_, data_, *attempt_);
    }
  }

 private:
  bool check(bool holds, const std::string& guarantee, const std::string& violation) {
    return model_.check(holds, guarantee, violation);
  }

  template <std::size_t size>
  void check_as_planned(const Value& plan, const char* const (&names)[size]) {
    for (const char* name : names) {
      check(plan[name] == data_[name], "scheduled",
            std::string(name) + " is not as planned: " + data_[name].text() + " instead of " +
                plan[name].text());
    }
  }

  void scheduled() {
    if (!check(attempt_ == nullptr, "scheduled_once", "the attempt is already scheduled")) {
      return;
    }
    const Runnable* planned = run_->find(key_);
    if (check(planned != nullptr && planned->is_open(), "scheduled",
              "the run did not plan the attempt")) {
      check_as_planned(planned->plan, kIntent);
      check_as_planned(planned->plan, kClaimOptions);
      check_as_planned(planned->plan, kTimeouts);
      check_as_planned(planned->plan, kCircuitBreaker);
      check(planned->handler() != "__engine__", "scheduled", "the engine executes the step itself");
    }
    Attempt attempt;
    attempt.key = key_;
    attempt.run = run_->id;
    attempt.queue = queue_;
    attempt.intent = data_;
    attempt.visible_at = data_["visible_at"].integer();
    attempt.order = ++model_.counter;
    model_.attempts[key_] = attempt;
  }

  void claimed() {
    Attempt& attempt = *attempt_;
    const std::int64_t lease_until = data_["lease_until"].integer();
    const std::string id = data_["claim_id"].string();
    check(attempt.outcome == Attempt::Outcome::none && !attempt.withdrawn, "claim",
          "the attempt has ended");
    check(!attempt.is_held(at_), "one_claim",
          "claim " + (attempt.claims.empty() ? "" : attempt.claims.back().id) + " is valid until " +
              std::to_string(attempt.claims.empty() ? 0 : attempt.claims.back().lease_until));
    check(at_ >= attempt.visible_at, "visible",
          "the attempt is not visible before " + std::to_string(attempt.visible_at));
    check(lease_until == at_ + attempt.lease_ms(), "lease",
          "the lease is " + std::to_string(lease_until - at_) + " ms, not " +
              std::to_string(attempt.lease_ms()));
    const bool again = model_.carried.contains(queue_) && !attempt.claims.empty() &&
                       attempt.claims.back().id == id &&
                       attempt.claims.back().token_hash == data_["claim_token_hash"].string();
    check(model_.claim_ids.insert(id).second || again, "fence", "the claim id was already used");
    pass_over(id);
    attempt.claims.push_back({id, data_["claim_token_hash"].string(), at_, lease_until});
    model_.circuit_claimed(attempt);
  }

  // Attempts are claimed in the order in which they became visible; with equal times, in the order
  // in which they were scheduled. Whether a worker could have executed an earlier one is known when
  // the claim is assigned.
  void pass_over(const std::string& claim_id) {
    const auto rank = [](const Attempt& one) { return std::pair(one.visible_at, one.order); };
    for (const auto& [key, other] : model_.attempts) {
      const auto run = model_.runs.find(other.run);
      const bool claimable = other.queue == queue_ && other.outcome == Attempt::Outcome::none &&
                             !other.withdrawn && !other.is_held(at_) && at_ >= other.visible_at &&
                             run != model_.runs.end() && !run->second.has_ended() &&
                             other.handler() != "__timer__" && !model_.is_held_back(other, at_);
      if (claimable && rank(other) < rank(*attempt_)) {
        model_.passed_over[claim_id][key] = other.handler();
      }
    }
  }

  // Checks the fence of the current claim, before its lease expires.
  bool check_fence() {
    const Attempt& attempt = *attempt_;
    const bool current = !attempt.claims.empty() && !attempt.withdrawn &&
                         attempt.claims.back().id == data_["claim_id"].string() &&
                         attempt.claims.back().token_hash == data_["claim_token_hash"].string();
    if (!check(current, "fence", "the fence is not that of the current claim")) {
      return false;
    }
    check(attempt.outcome == Attempt::Outcome::none, "one_outcome",
          "the attempt already has an outcome");
    check(at_ < attempt.claims.back().lease_until, "lease",
          "the lease expired at " + std::to_string(attempt.claims.back().lease_until));
    return attempt.outcome == Attempt::Outcome::none;
  }

  void heartbeat() {
    if (!check_fence()) {
      return;
    }
    const std::int64_t lease_until = data_["lease_until"].integer();
    const auto given_back = model_.given_back.find(data_["claim_id"].string());
    const bool ends = given_back != model_.given_back.end() && model_.carried.contains(queue_) &&
                      lease_until == at_ + given_back->second;
    check(ends || lease_until == at_ + attempt_->lease_ms(), "lease",
          "the lease is " + std::to_string(lease_until - at_) + " ms, not " +
              std::to_string(attempt_->lease_ms()));
    attempt_->claims.back().lease_until = lease_until;
  }

  void completed() {
    if (!check_fence()) {
      return;
    }
    attempt_->outcome = Attempt::Outcome::completed;
    attempt_->result = data_["result"];
    model_.circuit_completed(*attempt_);
    attempt_->opts = data_["execution_opts"];
    const Step* step = run_->definition == nullptr || run_->find(key_) == nullptr
                           ? nullptr
                           : run_->definition->find(run_->find(key_)->name.base);
    if (step != nullptr && !run_->find(key_)->name.compensates && step->spec.has("output_schema")) {
      check(fits_contract(step->spec["output_schema"], attempt_->result), "schema",
            "the result does not match the output schema of the step");
    }
  }

  void failed() {
    if (!check_fence()) {
      return;
    }
    attempt_->outcome = Attempt::Outcome::failed;
    attempt_->error = data_["error"];
    attempt_->retry_key = data_["retry_runnable_key"].string();
    model_.circuit_failed(*attempt_);
    check_timeout();
    check_retry();
    if (attempt_->retry_key.empty()) {
      return;
    }
    Attempt next;
    next.key = attempt_->retry_key;
    next.run = attempt_->run;
    next.queue = attempt_->queue;
    next.intent = attempt_->intent;
    const std::int64_t number = attempt_->intent["attempt_number"].integer() + 1;
    next.visible_at = data_["retry_visible_at"].integer();
    next.intent.set("attempt_number", number);
    next.intent.set("runnable_key", next.key);
    next.intent.set("visible_at", next.visible_at);
    next.order = ++model_.counter;
    const std::string expected =
        run_->id + ":" + attempt_->intent["step"].string() + ":" + std::to_string(number);
    check(next.key == expected, "retry", "the key of the next attempt must be " + expected);
    check(data_["retry_idempotency_key"] == attempt_->intent["idempotency_key"], "idempotency_key",
          "the next attempt has the key " + data_["retry_idempotency_key"].text() + ", not " +
              attempt_->intent["idempotency_key"].text());
    if (check(!model_.attempts.contains(next.key), "scheduled_once",
              "the retry is already scheduled")) {
      model_.attempts[next.key] = next;
    }
  }

  // The engine fails attempts that take too long, never early.
  void check_timeout() {
    const std::string& code = attempt_->error["code"].string();
    const auto& claims = attempt_->claims;
    const std::int64_t close_ms = attempt_->intent["start_to_close_ms"].integer();
    const std::int64_t start_ms = attempt_->intent["schedule_to_start_ms"].integer();
    if (code == "start_to_close_timeout" && close_ms > 0) {
      // If no claim is valid, the engine makes one at the same moment.
      const bool own = claims.size() > 1 && claims.back().at == at_;
      const Claim& worker = claims[claims.size() - (own ? 2 : 1)];
      check(at_ >= worker.at + close_ms, "attempt_timeout",
            "the attempt had " + std::to_string(worker.at + close_ms - at_) + " ms left");
    }
    if (code == "schedule_to_start_timeout" && start_ms > 0) {
      check(
          at_ >= attempt_->visible_at + start_ms, "attempt_timeout",
          "the attempt had " + std::to_string(attempt_->visible_at + start_ms - at_) + " ms left");
    }
  }

  void check_retry() {
    const Runnable* planned = run_->find(key_);
    if (planned == nullptr || run_->definition == nullptr || !run_->unmodelled.empty()) {
      return;
    }
    const Value& error = attempt_->error;
    const std::string& code = error["code"].string();
    const RetryRule rule =
        retry_rule(policy_of(*run_->definition, *planned), code, attempts_made(planned->plan));
    const bool more = attempts_made(planned->plan) < rule.max_attempts &&
                      (!run_->is_compensating() || planned->name.compensates);
    const bool again = !attempt_->retry_key.empty();
    check(!again || more, "retry", "the last attempt is retried");
    const auto reported = model_.retryable.find(data_["claim_id"].string());
    const bool engine = code == "start_to_close_timeout" || code == "schedule_to_start_timeout";
    std::optional<bool> retryable;
    if (reported != model_.retryable.end()) {
      retryable = reported->second;
    } else if (engine) {
      retryable = code == "start_to_close_timeout";
    } else if (error["retryable"].is_boolean()) {
      retryable = error["retryable"].boolean();
    }
    if (retryable.has_value()) {
      const bool may = *retryable || (code == "step_exception" && rule.named);
      check(again == (may && more), "retry",
            again ? "the attempt must not be retried" : "the attempt must be retried");
    }
    if (again) {
      const std::int64_t at = data_["retry_visible_at"].integer();
      const auto after = model_.retry_after.find(data_["claim_id"].string());
      const bool known = after != model_.retry_after.end() || engine;
      const bool requested = known && !engine && after->second.is_integer();
      const std::int64_t shortest = requested ? after->second.integer() : rule.shortest_ms;
      const std::int64_t longest = requested ? after->second.integer() : rule.longest_ms;
      // A worker may request a delay of its own; facts do not record it.
      check(!known || (at >= at_ + shortest && at <= at_ + longest), "backoff",
            "the next attempt comes after " + std::to_string(at - at_) + " ms, not " +
                std::to_string(shortest) + " to " + std::to_string(longest));
      check(at >= at_, "backoff", "the next attempt comes before this one failed");
    }
  }

  OracleModel& model_;
  const StoredFact& fact_;
  std::int64_t at_;
  const std::string& queue_;
  const Value& data_;
  const std::string& kind_;
  std::string key_;
  Run* run_ = nullptr;
  Attempt* attempt_ = nullptr;
};

}  // namespace

std::string Attempt::handler() const {
  return intent.has("handler") ? intent["handler"].string() : intent["step"].string();
}

std::int64_t Attempt::lease_ms() const { return intent["lease_ms"].integer(kLeaseMs); }

void OracleModel::queue_fact(const StoredFact& fact, const std::string& queue, const Value& data) {
  if (fact.kind.rfind("run_continuation_", 0) == 0) {
    if (const auto run = runs.find(data["run_id"].string()); run != runs.end()) {
      unmodelled(run->second, fact.kind);
    }
    return;
  }
  check(data["queue"].string() == queue, "form", "the fact is in the thread of another queue");
  if (fact.kind == "circuit_reset") {
    circuit_reset(queue, data);
    return;
  }
  AttemptFact(*this, fact, queue, data).process();
  touched.insert(data["run_id"].string());
}

}  // namespace holdfast::sim::model

// An attempt as its clients see it: unclaimed, then held by one claim until its lease expires, then
// by another; a result counts only from the claim that holds the attempt at that time. The end of a
// lease is known as precisely as the times of calls and answers allow.
#pragma once

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/fault_history.h"

namespace holdfast {

inline constexpr std::int64_t kSharedLeaseMs = 25;
inline constexpr const char* kClaimedWorkflow =
    R"({"workflow":"claimed","version":"1","steps":[)"
    R"({"name":"s","lease_ms":25,"retry":{"max_attempts":3,"delay_ms":3600000}},)"
    R"({"name":"last","after":["s"],"queue":"unserved"}]})";

struct AttemptModel {
  using Op = HistoryOp;
  using Response = HistoryAnswer;
  struct State {
    std::string status = {};  // empty: it does not exist
    std::string claim = {};   // the claim that holds it, or held it when it ended
    std::string result = {};
    std::int64_t lease_from = 0;  // the lease ends in this interval
    std::int64_t lease_to = 0;
    std::int64_t visible_by = 0;  // it was visible to others by this time
    friend auto operator<=>(const State&, const State&) = default;
  };
  static State initial() { return {}; }

  static std::vector<State> step(const State& state, const Op& op, const Response* answer) {
    if (op.verb == "start") {
      return start(state, answer);
    }
    if (op.verb == "read") {
      return answer == nullptr || answer->detail == seen(state) ? std::vector{state}
                                                                : std::vector<State>{};
    }
    if (state.status.empty()) {
      return refused(state, answer, "unknown_runnable_intent");
    }
    if (op.verb == "claim" || op.verb == "claim_next") {
      return claim(state, op, answer);
    }
    if (op.verb == "heartbeat") {
      return heartbeat(state, op, answer);
    }
    return end(state, op, answer);
  }

  static std::string text(const Op& op) { return text_of(op); }
  static std::string text(const Response& answer) { return text_of(answer); }
  static std::string text(const State& state) {
    return seen(state) + " lease until " + std::to_string(state.lease_from);
  }
  // A claim of any attempt: the answer names it. Without an answer it may be any attempt that
  // existed before its client died.
  static void add_to_objects(const Call<AttemptModel>& call,
                             std::map<std::string, Calls<AttemptModel>>& objects) {
    if (call.answer.has_value()) {
      const std::string name = call.answer->word.substr(call.answer->word.find(':') + 1);
      if (const auto object = objects.find(name); object != objects.end()) {
        object->second.push_back(call);
        object->second.back().answer->word = "ok";
      }
      return;
    }
    for (auto& [name, calls] : objects) {
      const auto by_call = [](const auto& a, const auto& b) { return a.called_at < b.called_at; };
      const auto [first, last] = std::minmax_element(calls.begin(), calls.end(), by_call);
      if (first->called_at <= call.answered_at && last->called_at >= call.called_at) {
        calls.push_back(call);
      }
    }
  }

  static std::string seen(const State& state) {
    return state.status.empty() ? "none"
                                : state.status + (state.claim.empty() ? "" : "," + state.claim);
  }

 private:
  using States = std::vector<State>;
  static constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max();

  static States refused(const State& state, const Response* answer, const std::string& word) {
    return answer == nullptr || answer->word == word ? States{state} : States{};
  }
  static std::int64_t answered_at(const Response* answer) {
    return answer == nullptr ? kAnyTime : answer->wall_ms;
  }
  // Whether the lease may have expired, or may be valid, at some time during the operation.
  static bool may_be_expired(const State& state, const Response* answer) {
    return state.lease_from <= answered_at(answer);
  }
  static bool may_hold(const State& state, const Op& op) { return state.lease_to > op.wall_ms; }

  static States start(const State& state, const Response* answer) {
    State next = state;
    const bool fresh = state.status.empty();
    if (fresh) {
      next.status = "available";
      next.visible_by = answered_at(answer);
    }
    return answer == nullptr || answer->detail == (fresh ? "new" : "existed") ? States{next}
                                                                              : States{};
  }
  // The answer gives the end of the lease; without one it is some time after the call.
  static State leased(State state, const Op& op, const Response* answer) {
    state.lease_from = answer != nullptr ? std::stoll(answer->detail) : op.wall_ms + kSharedLeaseMs;
    state.lease_to = answer != nullptr ? state.lease_from : kAnyTime;
    return state;
  }
  static States claim(const State& state, const Op& op, const Response* answer) {
    if (state.status == "completed" || state.status == "failed") {
      return refused(state, answer, "terminal_attempt");
    }
    States next;
    if (answer == nullptr || answer->word == "ok") {
      if (state.status == "available" || may_be_expired(state, answer)) {
        next.push_back(leased({"claimed", op.a}, op, answer));
      }
    }
    // A client that read the clock before another one started the run may get "not visible yet".
    if (answer != nullptr && answer->word == "attempt_not_visible" && state.status == "available" &&
        state.visible_by > op.wall_ms) {
      next.push_back(state);
    }
    if (answer == nullptr || answer->word == "active_claim") {
      if (state.status == "claimed" && may_hold(state, op)) {
        next.push_back(state);
      }
    }
    return next;
  }
  // What every proof of a claim must satisfy; `granted` is the state if it does.
  static States proven(const State& state, const Op& op, const Response* answer,
                       const State& granted) {
    if (state.status != "claimed" || state.claim != op.a) {
      return refused(state, answer, "stale_claim");
    }
    States next;
    if ((answer == nullptr || answer->word == "ok") && may_hold(state, op)) {
      next.push_back(granted);
    }
    if ((answer == nullptr || answer->word == "expired_claim") && may_be_expired(state, answer)) {
      next.push_back(state);
    }
    return next;
  }
  static States heartbeat(const State& state, const Op& op, const Response* answer) {
    const bool granted = answer == nullptr || answer->word == "ok";
    return proven(state, op, answer, granted ? leased(state, op, answer) : state);
  }
  static States end(const State& state, const Op& op, const Response* answer) {
    const bool completes = op.verb == "complete";
    if (state.claim == op.a && completes && state.status == "completed") {
      return refused(state, answer, state.result == op.b ? "ok" : "conflicting_completion");
    }
    if (state.claim == op.a && !completes && state.status == "failed") {
      return refused(state, answer, "ok");
    }
    return proven(state, op, answer, {completes ? "completed" : "failed", op.a, op.b});
  }
};

}  // namespace holdfast

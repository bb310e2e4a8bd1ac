// A run of the workflow "shared" as its clients see it: started once, decided once, every event
// received once, ended once. Two steps wait at the same time, `gate` for a decision and `news` for
// an event; no worker executes the step that follows both.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/fault_history.h"

namespace holdfast {

inline constexpr const char* kSharedWorkflow =
    R"({"workflow":"shared","version":"1","steps":[)"
    R"({"name":"gate","approval":{"reason":"well?"}},)"
    R"({"name":"news","await_event":{"event":"news"},"output":"news"},)"
    R"({"name":"last","after":["gate","news"],"queue":"unserved"}]})";

struct RunModel {
  using Op = HistoryOp;
  using Response = HistoryAnswer;
  struct State {
    std::string input = {};     // empty: not started
    std::string decision = {};  // approved or rejected
    std::string actor = {};     // the operator who decided
    std::string news = {};      // the first event
    std::string end = {};       // cancelled or failed
    std::map<std::string, std::string> events = {};
    friend auto operator<=>(const State&, const State&) = default;
  };
  static State initial() { return {}; }

  static std::vector<State> step(const State& state, const Op& op, const Response* answer) {
    State next = state;
    const HistoryAnswer expected = carry_out(next, op);
    const bool fits =
        answer == nullptr || (answer->word == expected.word && answer->detail == expected.detail);
    return fits ? std::vector{std::move(next)} : std::vector<State>{};
  }

  static std::string text(const Op& op) { return text_of(op); }
  static std::string text(const Response& answer) { return text_of(answer); }
  static std::string text(const State& state) {
    return state.input.empty() ? "not started" : seen(state);
  }
  static void add_to_objects(const Call<RunModel>& /*call*/,
                             std::map<std::string, Calls<RunModel>>& /*objects*/) {}

  // What a snapshot of the run shows.
  static std::string seen(const State& state) {
    const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
    return (state.end.empty() ? "live" : state.end) + "," + or_dash(state.actor) + "," +
           or_dash(state.news);
  }

 private:
  static HistoryAnswer carry_out(State& run, const Op& op) {
    if (op.verb == "start") {
      return start(run, op);
    }
    if (run.input.empty()) {
      return {"run_not_found"};
    }
    if (op.verb == "signal") {
      return signal(run, op);
    }
    if (op.verb == "cancel") {
      return cancel(run);
    }
    if (op.verb == "read") {
      return {"ok", seen(run)};
    }
    return decide(run, op);
  }
  // A different input is a conflict under a key, and a different run under an id.
  static HistoryAnswer start(State& run, const Op& op) {
    if (run.input.empty()) {
      run.input = op.a;
      return {"ok", "new"};
    }
    if (run.input == op.a) {
      return {"ok", "existed"};
    }
    return {op.b == "key" ? "idempotency_conflict" : "run_exists"};
  }
  static HistoryAnswer signal(State& run, const Op& op) {
    if (const auto known = run.events.find(op.a); known != run.events.end()) {
      return {known->second == op.b ? "ok" : "idempotency_conflict"};
    }
    if (!run.end.empty()) {
      return {"terminal_run"};
    }
    run.events[op.a] = op.b;
    run.news = run.news.empty() ? op.b : run.news;
    return {"ok"};
  }
  static HistoryAnswer cancel(State& run) {
    if (run.end == "failed") {
      return {"invalid_transition"};
    }
    run.end = "cancelled";
    return {"ok"};
  }
  static HistoryAnswer decide(State& run, const Op& op) {
    const std::string decision = op.verb == "approve" ? "approved" : "rejected";
    if (run.decision == decision) {
      return {"ok"};
    }
    if (!run.end.empty()) {
      return {"terminal_run"};
    }
    if (!run.decision.empty()) {
      // It does not wait any more, or only for the event.
      return {run.news.empty() ? "stale_manual_resolution" : "invalid_transition"};
    }
    run.decision = decision;
    run.actor = op.a;
    run.end = decision == "approved" ? "" : "failed";
    return {"ok"};
  }
};

}  // namespace holdfast

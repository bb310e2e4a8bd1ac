// One message id of one sender, as its clients see it: unused, then the id of one content for ever.
// Every request with that content gets the ids of the first, every other is a conflict.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace holdfast {

struct AcceptModel {
  struct Op {
    bool lookup = false;  // otherwise the content is sent
    std::string content;
  };
  struct Response {
    // created, duplicate, conflict, refused; found, absent
    std::string word;
    std::string broker_id;
    std::string content;  // that the broker has: of conflict and found
  };
  struct State {
    std::string content;    // empty: the id is unused
    std::string broker_id;  // empty: no client has seen it
    friend auto operator<=>(const State&, const State&) = default;
  };
  static State initial() { return {}; }

  static std::vector<State> step(const State& state, const Op& op, const Response* answer) {
    if (op.lookup) {
      return look_up(state, answer);
    }
    if (state.content.empty()) {
      return send_first(state, op, answer);
    }
    if (answer == nullptr) {
      return {state};
    }
    if (state.content != op.content) {
      return when(answer->word == "conflict" && answer->content == state.content, state);
    }
    return when(answer->word == "duplicate" && is_id_of(state, *answer),
                {state.content, answer->broker_id});
  }

  static std::string text(const Op& op) { return op.lookup ? "look up" : "send " + op.content; }
  static std::string text(const Response& answer) {
    return answer.word + " " + answer.broker_id + " " + answer.content;
  }
  static std::string text(const State& state) {
    return state.content.empty() ? "unused" : state.content + " as " + state.broker_id;
  }

 private:
  static std::vector<State> when(bool holds, const State& state) {
    return holds ? std::vector{state} : std::vector<State>{};
  }
  static bool is_id_of(const State& state, const Response& answer) {
    return state.broker_id.empty() || state.broker_id == answer.broker_id;
  }
  // Without an answer it may have been accepted, or not.
  static std::vector<State> send_first(const State& state, const Op& op, const Response* answer) {
    if (answer == nullptr) {
      return {{op.content, ""}, state};
    }
    if (answer->word == "refused") {
      return {state};
    }
    return when(answer->word == "created", {op.content, answer->broker_id});
  }
  static std::vector<State> look_up(const State& state, const Response* answer) {
    if (answer == nullptr) {
      return {state};
    }
    if (state.content.empty()) {
      return when(answer->word == "absent", state);
    }
    return when(
        answer->word == "found" && answer->content == state.content && is_id_of(state, *answer),
        {state.content, answer->broker_id});
  }
};

}  // namespace holdfast

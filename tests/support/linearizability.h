// A checker of histories: is there one order of the operations, each at some time between its call
// and its answer, in which a sequential model gives the same answers?
//
// The search is that of Wing and Gong with Lowe's improvements: candidates for the next operation
// are those called before every open answer, and a set of operations that led to the same state
// before is not examined again.
//
// A model is a struct with
//   Op, Response, State                     State is ordered by operator<
//   State initial()
//   std::vector<State> step(state, op, const Response* answer)
//       the states that the operation may leave when it gives this answer; none: it cannot give
//       this answer. nullptr: the answer is unknown, so every state it may leave.
//   std::string text(op), text(response), text(state)
// all static. An operation without an answer may take effect at any time after its call, until a
// time after which it cannot, or never.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

template <typename Model>
struct Call {
  typename Model::Op op;
  std::optional<typename Model::Response> answer;  // empty: unknown
  std::int64_t called_at = 0;                      // of one monotonic clock
  // Without an answer: it cannot take effect after this time.
  std::int64_t answered_at = std::numeric_limits<std::int64_t>::max();
  std::string who = {};
};

template <typename Model>
using Calls = std::vector<Call<Model>>;

struct HistoryVerdict {
  enum class Kind : std::uint8_t { linearizable, broken, too_hard };
  Kind kind = Kind::linearizable;
  std::uint64_t examined = 0;  // pairs of taken operations and state
  std::string report = {};     // for a broken history: its shortest broken prefix

  [[nodiscard]] bool ok() const { return kind == Kind::linearizable; }
};

// One search through one history.
template <typename Model>
class HistorySearch {
 public:
  using State = typename Model::State;
  static constexpr std::uint64_t kMaxExamined = 5'000'000;

  explicit HistorySearch(const Calls<Model>& calls) : calls_(calls), taken_(words(calls.size())) {
    link_events();
  }

  HistoryVerdict run() {
    std::size_t at = events_[kHead].next;
    bool unknown =
        false;  // operations with an answer are tried first; the others may never take effect
    while (open_answers_ > 0) {
      if (seen_.size() > kMaxExamined) {
        return verdict(HistoryVerdict::Kind::too_hard);
      }
      const Event& event = events_[at];
      if (!event.is_answer) {
        const bool turn = unknown == (event.answer == kNone);
        const bool taken = turn && take(at, successors(at), 0);
        at = taken ? events_[kHead].next : event.next;
        unknown = unknown && !taken;
      } else if (!unknown) {
        at = events_[kHead].next;
        unknown = true;
      } else if (!backtrack(at, unknown)) {
        // An answer whose operation cannot be taken in any order.
        return verdict(HistoryVerdict::Kind::broken);
      }
    }
    return verdict(HistoryVerdict::Kind::linearizable);
  }
  // A state of the model after the history: the first that was found.
  [[nodiscard]] const State& state() const { return state_; }

 private:
  static constexpr std::size_t kHead = 0;
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  struct Event {
    std::size_t call = 0;
    bool is_answer = false;
    std::size_t previous = 0;
    std::size_t next = 0;
    std::size_t answer = kNone;  // of a call: the event of its answer
  };
  struct Frame {
    std::size_t event;
    State before;
    std::int64_t newest_before;
    std::vector<State> choices;
    std::size_t chosen;
  };

  static std::size_t words(std::size_t bits) { return bits / 64 + 1; }

  // All events in one list by time; simultaneous ones count as concurrent, so calls come first.
  void link_events() {
    std::vector<std::pair<std::int64_t, Event>> timed;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      timed.push_back({calls_[i].called_at, {.call = i}});
      if (calls_[i].answer.has_value()) {
        timed.push_back({calls_[i].answered_at, {.call = i, .is_answer = true}});
        ++open_answers_;
      }
    }
    std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second.is_answer) < std::pair(b.first, b.second.is_answer);
    });
    events_.push_back({});
    std::vector<std::size_t> call_event(calls_.size());
    for (const auto& [time, event] : timed) {
      const std::size_t place = events_.size();
      events_.push_back(event);
      events_[place].previous = place - 1;
      events_[place - 1].next = place;
      if (event.is_answer) {
        events_[call_event[event.call]].answer = place;
      } else {
        call_event[event.call] = place;
      }
    }
    events_.back().next = kHead;
  }

  std::vector<State> successors(std::size_t event) const {
    const Call<Model>& call = calls_[events_[event].call];
    if (!call.answer.has_value() && newest_call_ > call.answered_at) {
      return {};
    }
    std::vector<State> next =
        Model::step(state_, call.op, call.answer.has_value() ? &*call.answer : nullptr);
    if (!call.answer.has_value()) {
      // Taking an operation without an answer that changes nothing is useless.
      std::erase_if(next, [&](const State& s) { return !(s < state_) && !(state_ < s); });
    }
    return next;
  }

  // Takes the operation with the first unseen choice from `from` on.
  bool take(std::size_t event, std::vector<State> choices, std::size_t from) {
    const std::size_t call = events_[event].call;
    taken_[call / 64] |= std::uint64_t{1} << (call % 64);
    for (std::size_t i = from; i < choices.size(); ++i) {
      if (seen_.emplace(taken_, choices[i]).second) {
        State before = std::exchange(state_, choices[i]);
        frames_.push_back({event, std::move(before), newest_call_, std::move(choices), i});
        newest_call_ = std::max(newest_call_, calls_[call].called_at);
        unlink(event);
        if (events_[event].answer != kNone) {
          unlink(events_[event].answer);
          --open_answers_;
        }
        return true;
      }
    }
    taken_[call / 64] &= ~(std::uint64_t{1} << (call % 64));
    return false;
  }

  // Undoes the last operation; sets `at` and `unknown` to where the search continues.
  bool backtrack(std::size_t& at, bool& unknown) {
    if (frames_.empty()) {
      return false;
    }
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    state_ = std::move(frame.before);
    newest_call_ = frame.newest_before;
    const std::size_t call = events_[frame.event].call;
    taken_[call / 64] &= ~(std::uint64_t{1} << (call % 64));
    if (events_[frame.event].answer != kNone) {
      link(events_[frame.event].answer);
      ++open_answers_;
    }
    link(frame.event);
    const bool taken = take(frame.event, std::move(frame.choices), frame.chosen + 1);
    at = taken ? events_[kHead].next : events_[frame.event].next;
    unknown = !taken && events_[frame.event].answer == kNone;
    return true;
  }

  // In the opposite order of each other, so that the links are restored.
  void unlink(std::size_t event) {
    events_[events_[event].previous].next = events_[event].next;
    events_[events_[event].next].previous = events_[event].previous;
  }
  void link(std::size_t event) {
    events_[events_[event].previous].next = event;
    events_[events_[event].next].previous = event;
  }

  [[nodiscard]] HistoryVerdict verdict(HistoryVerdict::Kind kind) const {
    return HistoryVerdict{kind, seen_.size()};
  }

  const Calls<Model>& calls_;
  std::vector<Event> events_;  // a ring; the first is its head
  std::size_t open_answers_ = 0;
  std::vector<std::uint64_t> taken_;
  State state_ = Model::initial();
  std::int64_t newest_call_ = std::numeric_limits<std::int64_t>::min();  // of those taken
  std::set<std::pair<std::vector<std::uint64_t>, State>> seen_;
  std::vector<Frame> frames_;
};

// The history at the time of its answer number `count`.
template <typename Model>
Calls<Model> history_prefix(const Calls<Model>& calls, std::size_t count) {
  std::vector<std::int64_t> answers;
  for (const Call<Model>& call : calls) {
    if (call.answer.has_value()) {
      answers.push_back(call.answered_at);
    }
  }
  std::sort(answers.begin(), answers.end());
  const std::int64_t end =
      count == 0 ? std::numeric_limits<std::int64_t>::min() : answers[count - 1];
  Calls<Model> prefix;
  for (const Call<Model>& call : calls) {
    if (call.called_at <= end) {
      prefix.push_back(call);
      if (call.answer.has_value() && call.answered_at > end) {
        prefix.back().answer.reset();
        prefix.back().answered_at = std::numeric_limits<std::int64_t>::max();
      }
    }
  }
  return prefix;
}

// For readers: one operation per line, by the time of its call, in milliseconds since the first. Of
// a long history only the end is shown.
template <typename Model>
std::string history_text(Calls<Model> calls) {
  constexpr std::size_t kShown = 60;
  std::sort(calls.begin(), calls.end(),
            [](const auto& a, const auto& b) { return a.called_at < b.called_at; });
  const auto ms = [&](std::int64_t at) {
    return std::to_string(static_cast<double>(at - calls.front().called_at) / 1e6);
  };
  std::string text;
  const std::size_t left_out = calls.size() > kShown ? calls.size() - kShown : 0;
  if (left_out > 0) {
    text = "  (" + std::to_string(left_out) + " before)\n";
  }
  for (std::size_t i = left_out; i < calls.size(); ++i) {
    const Call<Model>& call = calls[i];
    text += "  " + ms(call.called_at) + " .. " +
            (call.answer.has_value() ? ms(call.answered_at) : "?") + "  " + call.who + "  " +
            Model::text(call.op) + " -> " +
            (call.answer.has_value() ? Model::text(*call.answer) : "?") + "\n";
  }
  return text;
}

namespace linearizability_detail {

template <typename Model>
std::string report_of(const Calls<Model>& broken, const Calls<Model>& before) {
  const Call<Model>* last = nullptr;
  for (const Call<Model>& call : broken) {
    if (call.answer.has_value() && (last == nullptr || call.answered_at > last->answered_at)) {
      last = &call;
    }
  }
  HistorySearch<Model> search(before);
  std::string state;
  if (search.run().ok()) {
    state = "before it the state may be: " + Model::text(search.state()) + "\n";
  }
  return "no order explains\n  " + last->who + "  " + Model::text(last->op) + " -> " +
         Model::text(*last->answer) + "\n" + state + "history until then:\n" + history_text(broken);
}

}  // namespace linearizability_detail

// The whole history of one object.
template <typename Model>
HistoryVerdict check_history(const Calls<Model>& calls) {
  HistoryVerdict verdict = HistorySearch<Model>(calls).run();
  if (verdict.kind != HistoryVerdict::Kind::broken) {
    return verdict;
  }
  // Every prefix of a linearizable history is linearizable.
  std::size_t good = 0;
  std::size_t bad = static_cast<std::size_t>(std::count_if(
      calls.begin(), calls.end(), [](const auto& call) { return call.answer.has_value(); }));
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    const Calls<Model> prefix = history_prefix(calls, middle);
    (HistorySearch<Model>(prefix).run().ok() ? good : bad) = middle;
  }
  verdict.report =
      linearizability_detail::report_of(history_prefix(calls, bad), history_prefix(calls, bad - 1));
  return verdict;
}

// Independent objects are checked one by one: a history is linearizable if that of every object is.
// The first that is not is reported with its name.
template <typename Model>
HistoryVerdict check_histories(const std::map<std::string, Calls<Model>>& objects) {
  HistoryVerdict all;
  for (const auto& [name, calls] : objects) {
    const HistoryVerdict one = check_history(calls);
    all.examined += one.examined;
    if (!one.ok()) {
      return {one.kind, all.examined, name + ": " + one.report};
    }
  }
  return all;
}

}  // namespace holdfast

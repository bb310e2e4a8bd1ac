// Histories as clients write them and checkers read them: one file for all clients, one line for
// each call and one for each answer. Each line is one write, so that a kill leaves whole lines; a
// call without an answer has an unknown outcome.
//
//   call WHO MONOTONIC_NS WALL_MS VERB OBJECT A B
//   answer WHO MONOTONIC_NS WALL_MS WORD DETAIL
//   dead CLIENT MONOTONIC_NS WALL_MS              its calls have taken effect by now, or never will
//
// WHO is CLIENT.THREAD.NUMBER.
#pragma once

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "holdfast/assert.h"
#include "tests/support/linearizability.h"

namespace holdfast {

struct HistoryOp {
  std::string verb;
  std::string object;
  std::string a = "-";
  std::string b = "-";
  std::int64_t wall_ms = 0;  // time of the call
};

struct HistoryAnswer {
  std::string word;
  std::string detail = "-";
  std::int64_t wall_ms = 0;  // time of the answer
};

inline std::string text_of(const HistoryOp& op) {
  return op.verb + (op.a == "-" ? "" : " " + op.a) + (op.b == "-" ? "" : " " + op.b);
}
inline std::string text_of(const HistoryAnswer& answer) {
  return answer.word + (answer.detail == "-" ? "" : " " + answer.detail);
}

inline std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// Writes a history. Thread-safe.
class HistoryFile {
 public:
  explicit HistoryFile(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    HOLDFAST_ASSERT(fd_ >= 0);
  }
  ~HistoryFile() { close(fd_); }
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;
  void call(const std::string& who, const HistoryOp& op) const {
    add("call " + who + times() + op.verb + " " + op.object + " " + op.a + " " + op.b + "\n");
  }
  void answer(const std::string& who, const std::string& word, const std::string& detail) const {
    add("answer " + who + times() + word + " " + detail + "\n");
  }
  void dead(const std::string& client) const { add("dead " + client + times() + "\n"); }

 private:
  static std::string times() {
    return " " + std::to_string(clock_ns(CLOCK_MONOTONIC)) + " " +
           std::to_string(clock_ns(CLOCK_REALTIME) / 1'000'000) + " ";
  }
  void add(const std::string& line) const {
    HOLDFAST_ASSERT(write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }

  int fd_;
};

// Reads a history as operations of the model, by object. An operation without an object may concern
// any.
template <typename Model>
std::map<std::string, Calls<Model>> read_history(const std::string& path) {
  // A server may finish what a client started before it was killed.
  constexpr std::int64_t kStillInProgressNs = 1'000'000'000;
  std::map<std::string, Call<Model>> calls;    // by WHO
  std::map<std::string, std::int64_t> deaths;  // by client
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string who;
    std::int64_t at = 0;
    std::int64_t wall = 0;
    words >> kind >> who >> at >> wall;
    if (kind == "call") {
      Call<Model>& call = calls[who];
      words >> call.op.verb >> call.op.object >> call.op.a >> call.op.b;
      call.op.wall_ms = wall;
      call.called_at = at;
      call.who = who;
    } else if (kind == "dead") {
      deaths[who] = at + kStillInProgressNs;
    } else {
      Call<Model>& call = calls.at(who);
      call.answer.emplace();
      words >> call.answer->word >> call.answer->detail;
      call.answer->wall_ms = wall;
      call.answered_at = at;
    }
  }
  std::map<std::string, Calls<Model>> objects;
  for (auto& [who, call] : calls) {
    const auto death = deaths.find(who.substr(0, who.find('.')));
    if (!call.answer.has_value() && death != deaths.end()) {
      call.answered_at = death->second;
    }
    if (call.op.object != "any") {
      objects[call.op.object].push_back(call);
    }
  }
  for (const auto& [who, call] : calls) {
    if (call.op.object == "any") {
      Model::add_to_objects(call, objects);
    }
  }
  return objects;
}

}  // namespace holdfast

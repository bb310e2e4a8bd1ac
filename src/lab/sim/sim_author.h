// Author: writes random workflows: steps of every kind, connected by `after`, by transitions, or
// both. Some have faults that show only while a run executes: "lost" is never in the context,
// "late" is after some results. All of them end if handlers, operators and events respond.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/random.h"

namespace holdfast {

class Author {
 public:
  // queue: of some of the steps; empty: all steps are in the queue of their run.
  explicit Author(std::uint64_t seed, std::string workflow = "flow", std::string queue = "")
      : random_(seed), workflow_(std::move(workflow)), queue_(std::move(queue)) {}

  // trigger: members to write first, each followed by a comma.
  std::string write(const std::string& trigger = "") {
    const std::size_t count = 1 + pick(7);
    const bool paths = pick(2) == 0;  // all connected by transitions
    std::string steps;
    for (std::size_t i = 0; i < count; ++i) {
      steps += (i == 0 ? "" : ",") + step(i, paths);
    }
    for (std::size_t i = 0; i < count; ++i) {
      paths ? add_path(i, count) : add_error_route(i);
    }
    for (std::size_t i = 0; i < fallbacks_; ++i) {
      steps += R"(,{"name":"f)" + std::to_string(i) + R"("})";
    }
    std::string text = R"({"workflow":")" + workflow_ + R"(","version":"1",)" + trigger +
                       R"("max_visits":4,"steps":[)" + steps + "]";
    text += paths ? R"(,"entry":"s0")" : "";
    text += transitions_.empty() ? "" : R"(,"transitions":[)" + transitions_ + "]";
    text += pick(4) == 0 ? R"(,"timeout":"1h")" : "";
    text += pick(3) == 0 ? R"(,"compensate_on_cancel":true)" : "";
    text += pick(6) == 0 ? R"(,"output":{"n":"n","maybe":"late"})" : "";
    return text + "}";
  }

 private:
  std::size_t pick(std::size_t below) { return random_.below(below); }
  static std::string name(std::size_t i) { return "s" + std::to_string(i); }

  std::string step(std::size_t i, bool paths) {
    std::string text = R"({"name":")" + name(i) + R"(")" + kind(i);
    if (!paths && i > 0) {
      std::string after;
      for (std::size_t before = 0; before < i; ++before) {
        if (pick(3) == 0) {
          after += (after.empty() ? "\"" : ",\"") + name(before) + "\"";
        }
      }
      text += after.empty() ? "" : R"(,"after":[)" + after + "]";
    }
    return text + "}";
  }

  std::string kind(std::size_t i) {
    switch (pick(14)) {
      case 0:
        return R"(,"log":"here {n}")";
      case 1:
        return pick(4) == 0 ? R"(,"wait":{"until":"late"})" : R"(,"wait":"10s")";
      case 2:
        return R"(,"pause":true)";
      case 3:
        return R"(,"approval":true)";
      case 4:
        return R"(,"await_event":{"event":"e","timeout":"5m")" +
               std::string(pick(5) == 0 ? R"(,"correlation":{"path":"lost"}})" : "}");
      case 5:
        return R"(,"await_event":{"any_of":["e","f"]})";
      case 6:
        return R"(,"child":{"workflow":")" + std::string(pick(6) == 0 ? "lost" : "inner") +
               R"(","detached":)" + std::string(pick(3) == 0 ? "true}" : "false}");
      case 7:
        return R"(,"for_each":{"items":")" + std::string(pick(5) == 0 ? "late" : "list") +
               R"(","concurrency":2,"on_error":")" +
               std::string(pick(2) == 0 ? "fail" : "collect") + R"("},"retry":{"max_attempts":2)" +
               then() + "}" + (pick(4) == 0 ? R"(,"input":{"i":"item","maybe":"late"})" : "");
      case 8:
        return R"(,"compensate":{"handler":"undo","retry":{"max_attempts":2)" + then() +
               R"(}},"output":"o)" + std::to_string(i) + "\"" + queue();
      case 9:
        return R"(,"timeout":{"start_to_close":"1m","schedule_to_start":")" +
               std::string(pick(2) == 0 ? "2m" : "2s") + R"("})" + circuit_breaker() + queue();
      case 10:
        return R"(,"input":{"n":"n","maybe":")" + std::string(pick(2) == 0 ? "late" : "missing") +
               R"("})" + queue();
      default:
        return R"(,"retry":{"max_attempts":3,"delay_ms":100,"jitter_percent":50)" + then() + "}" +
               circuit_breaker() + queue() +
               std::string(pick(3) == 0   ? R"(,"compensate":"undo")"
                           : pick(3) == 0 ? R"(,"irreversible":true)"
                                          : "");
    }
  }

  std::string then() { return pick(3) == 0 ? R"(,"then":"park")" : ""; }

  std::string circuit_breaker() {
    return pick(3) == 0 ? R"(,"circuit_breaker":{"failures":)" + std::to_string(1 + pick(2)) +
                              R"(,"probe_after":"5s"})"
                        : "";
  }

  std::string queue() {
    return queue_.empty() || pick(2) != 0 ? "" : R"(,"queue":")" + queue_ + "\"";
  }

  void add(const std::string& transition) {
    transitions_ += (transitions_.empty() ? "" : ",") + transition;
  }
  std::string target(std::size_t count) {
    const std::size_t to = pick(count + 2);
    return to < count ? name(to) : (to == count ? "complete" : "fail");
  }
  void add_path(std::size_t i, std::size_t count) {
    const std::string from = R"({"from":")" + name(i) + R"(",)";
    if (pick(2) == 0) {
      add(from + R"("to":")" + target(count) + R"(","when":{"path":"n","greater":)" +
          std::to_string(pick(4)) + "}}");
    }
    // Without it, no transition may fit.
    const std::string when = pick(5) == 0 ? R"(","when":{"path":"n","less":3}})" : R"("})";
    add(from + R"("to":")" + (i + 1 < count ? name(i + 1) : "complete") + when);
    add(from + R"("on":"error","to":")" + target(count) + R"("})");
  }
  void add_error_route(std::size_t i) {
    if (pick(3) != 0) {
      return;
    }
    const std::string to = pick(3) == 0 ? "complete" : "f" + std::to_string(fallbacks_++);
    add(R"({"from":")" + name(i) + R"(","on":"error","to":")" + to + R"("})");
  }

  SeededRandom random_;
  std::string workflow_;
  std::string queue_;
  std::string transitions_;
  std::size_t fallbacks_ = 0;
};

}  // namespace holdfast

// Random workflows, and those outside who answer at random: everything follows from a seed.
#pragma once

#include <cstdlib>
#include <string>

#include "base/random.h"
#include "tests/support/workflow_world.h"

namespace holdfast {

// A number that depends on nothing but the seed and the question.
inline std::uint64_t draw(std::uint64_t seed, std::string_view question, std::uint64_t below) {
  const Digest digest = sha256(std::to_string(seed) + "|" + std::string(question));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number = number << 8U | static_cast<std::uint64_t>(digest[i]);
  }
  return number % below;
}

// Makes definitions: steps of every kind, joined by `after`, by transitions, or both.
class Author {
 public:
  explicit Author(std::uint64_t seed) : random_(seed) {}

  std::string write() {
    const std::size_t count = 1 + pick(7);
    const bool paths = pick(2) == 0;  // all joined by transitions
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
    std::string text = R"({"workflow":"flow","max_visits":4,"steps":[)" + steps + "]";
    text += paths ? R"(,"entry":"s0")" : "";
    text += transitions_.empty() ? "" : R"(,"transitions":[)" + transitions_ + "]";
    text += pick(4) == 0 ? R"(,"timeout":"1h")" : "";
    text += pick(3) == 0 ? R"(,"compensate_on_cancel":true)" : "";
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
        return R"(,"wait":"10s")";
      case 2:
        return R"(,"pause":true)";
      case 3:
        return R"(,"approval":true)";
      case 4:
        return R"(,"await_event":{"event":"e","timeout":"5m"})";
      case 5:
        return R"(,"await_event":{"any_of":["e","f"]})";
      case 6:
        return R"(,"child":{"workflow":"inner","detached":)" +
               std::string(pick(3) == 0 ? "true}" : "false}");
      case 7:
        return R"(,"for_each":{"items":"list","concurrency":2,"on_error":")" +
               std::string(pick(2) == 0 ? "fail" : "collect") + R"("},"retry":{"max_attempts":2})";
      case 8:
        return R"(,"compensate":"undo","output":"o)" + std::to_string(i) + "\"";
      case 9:
        return R"(,"timeout":{"start_to_close":"1m","schedule_to_start":"2m"})";
      case 10:
        return R"(,"input":{"n":"n","maybe":"missing"})";
      default:
        return R"(,"retry":{"max_attempts":3,"delay_ms":100,"jitter_percent":50})" +
               std::string(pick(3) == 0 ? R"(,"compensate":"undo")" : "");
    }
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
    add(from + R"("to":")" + (i + 1 < count ? name(i + 1) : "complete") + R"("})");
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
  std::string transitions_;
  std::size_t fallbacks_ = 0;
};

inline WorldOutcome answer(std::uint64_t seed, const Assignment& attempt) {
  const std::string what(attempt.runnable_key.view());
  const std::uint64_t luck = draw(seed, what, 20);
  if (luck < 3) {
    return breaks("flaky");
  }
  if (luck < 5) {
    return breaks("broken", false);
  }
  const std::string result = R"({"n":)" + std::to_string(luck % 5) + "}";
  if (luck == 5 && what.find(":deferred") == std::string::npos) {
    return says(result, R"({"defer":{"reason":"early","schedule_in_ms":700}})");
  }
  return says(result, luck == 6 ? R"({"schedule_in_ms":300})" : "");
}

inline WorldScript script_of(std::uint64_t seed, const std::string& definition) {
  WorldScript script;
  script.definitions = {definition,
                        R"({"workflow":"inner","steps":[{"name":"i0"},
                            {"name":"i1","approval":true,"after":["i0"]}]})"};
  script.input = R"({"n":1,"list":[1,2,3]})";
  script.handler = [seed](const Assignment& attempt) { return answer(seed, attempt); };
  script.decide = [seed](const ManualState& at) -> std::optional<ManualAction> {
    const std::uint64_t luck = draw(seed, "decide " + at.step.str(), 10);
    if (luck == 0) {
      return std::nullopt;
    }
    if (at.kind.view() == "pause") {
      return ManualAction::resumed;
    }
    return luck < 4 ? ManualAction::rejected : ManualAction::approved;
  };
  script.send = [seed](const EventWait& wait) -> std::optional<SharedText> {
    return draw(seed, "send " + wait.opened.step.str(), 4) == 0 ? std::nullopt
                                                                : std::optional(wait.opened.event);
  };
  return script;
}

// How many seeds a test tries, unless HOLDFAST_SEEDS says otherwise.
inline std::uint64_t seeds(std::uint64_t usual) {
  const char* asked = std::getenv("HOLDFAST_SEEDS");
  return asked == nullptr ? usual : std::strtoull(asked, nullptr, 10);
}

}  // namespace holdfast

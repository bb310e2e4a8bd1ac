// Random workflows and random behaviour of workers and operators; everything is derived from a
// seed.
#pragma once

#include <cstdlib>
#include <string>

#include "lab/sim/sim_author.h"
#include "tests/support/workflow_world.h"

namespace holdfast {

// A number that depends only on the seed and the topic.
inline std::uint64_t draw(std::uint64_t seed, std::string_view topic, std::uint64_t below) {
  const Digest digest = sha256(std::to_string(seed) + "|" + std::string(topic));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number = number << 8U | static_cast<std::uint64_t>(digest[i]);
  }
  return number % below;
}

inline WorldOutcome answer(std::uint64_t seed, const Assignment& attempt) {
  const std::string what(attempt.runnable_key.view());
  const std::uint64_t luck = draw(seed, what, 20);
  if (luck < 3) {
    return breaks("flaky");
  }
  if (luck < 5) {
    return breaks("broken", false);
  }
  const std::string result =
      R"({"n":)" + std::to_string(luck % 5) + (luck % 3 == 0 ? R"(,"late":[1,2]})" : "}");
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
    const std::uint64_t luck = draw(seed, "decide " + at.step.str() + at.runnable_key.str(), 10);
    if (luck == 0) {
      return std::nullopt;
    }
    if (at.kind == BoundaryKind::pause) {
      return ManualAction::resumed;
    }
    // Nothing but another definition would change what follows a result.
    if (at.error.view().find("no_matching_transition") != std::string_view::npos) {
      return ManualAction::discarded;
    }
    if (at.kind == BoundaryKind::parked) {
      return luck < 4 ? ManualAction::discarded : ManualAction::retried;
    }
    return luck < 4 ? ManualAction::rejected : ManualAction::approved;
  };
  script.send = [seed](const EventWait& wait) -> std::optional<SharedText> {
    return draw(seed, "send " + wait.opened.step.str(), 4) == 0 ? std::nullopt
                                                                : std::optional(wait.opened.event);
  };
  return script;
}

// The number of seeds that a test tries; HOLDFAST_SEEDS overrides it.
inline std::uint64_t seeds(std::uint64_t usual) {
  const char* requested = std::getenv("HOLDFAST_SEEDS");
  return requested == nullptr ? usual : std::strtoull(requested, nullptr, 10);
}

}  // namespace holdfast

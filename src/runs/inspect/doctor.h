// Doctor: looks at everything that has not ended and says what is not as it should be, and what
// to do about it.
#pragma once

#include <string>
#include <vector>

#include "runs/engine/live_state.h"
#include "runs/inspect/moment.h"
#include "runs/view/explanation.h"

namespace holdfast {

struct Finding {
  std::string run_id = {};  // empty: it is about the whole store
  std::string step = {};
  std::string summary;
  std::string command = {};  // what to type about it
};

struct Check {
  enum class Verdict : std::uint8_t { ok, warning, fault };
  std::string name;
  std::string question;  // what is looked for
  Verdict when_found = Verdict::fault;
  std::uint64_t count = 0;
  std::vector<Finding> findings = {};  // the first of them

  [[nodiscard]] Verdict verdict() const { return count == 0 ? Verdict::ok : when_found; }
};
template <>
inline constexpr std::string_view kEnumNames<Check::Verdict>[] = {"ok", "warning", "fault"};

struct Diagnosis {
  std::vector<Check> checks;
  std::uint64_t live_runs = 0;
  Moment moment = {};

  [[nodiscard]] Check::Verdict verdict() const;
};

// Loads every run that has not ended.
Result<Diagnosis> diagnose(LiveState& state, const Moment& moment);
JsonText to_json(const Diagnosis& diagnosis);

}  // namespace holdfast

// Coverage: what simulations have met, each thing by name. A fault that never struck and a rule
// that was never broken prove nothing, so what must be met is listed, and what was not is told.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast::sim {

class Coverage {
 public:
  void add(const std::string& what, std::uint64_t times = 1) { met_[what] += times; }
  void add(const Coverage& other) {
    for (const auto& [what, times] : other.met_) {
      met_[what] += times;
    }
  }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& met() const { return met_; }
  [[nodiscard]] std::uint64_t of(const std::string& what) const {
    const auto found = met_.find(what);
    return found == met_.end() ? 0 : found->second;
  }
  // Of what must be met, what was not.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  std::map<std::string, std::uint64_t> met_;
};

// Every kind of fact, anomaly, refusal, fault, way of recovery, reason and advice that a
// simulation of Holdfast itself must meet.
std::vector<std::string> required_coverage();

}  // namespace holdfast::sim

// Coverage: how often simulations reached each item, by name. A fault that was never injected and a
// rule that was never tested prove nothing, so the items that must be reached are listed, and
// missing ones are reported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast::sim {

class Coverage {
 public:
  void add(const std::string& what, std::uint64_t times = 1) { counts_[what] += times; }
  void add(const Coverage& other) {
    for (const auto& [what, times] : other.counts_) {
      counts_[what] += times;
    }
  }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t of(const std::string& what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  // The required items that were not reached.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  std::map<std::string, std::uint64_t> counts_;
};

// Every kind of fact, anomaly, refusal, fault, recovery, reason and advice that a simulation of
// Holdfast itself must reach.
std::vector<std::string> required_coverage();

}  // namespace holdfast::sim

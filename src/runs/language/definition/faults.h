// Faults: all errors in one spec. SpecLocation: the path to a value in the spec, the name it has in
// messages, and the rule that is broken when it is wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/quote.h"
#include "runs/language/definition/definition_fault.h"
#include "runs/language/definition/fault_codes.h"

namespace holdfast {

// Further faults are counted, not kept.
inline constexpr std::size_t kMaxFaults = 1000;

class Faults {
 public:
  void add(std::vector<std::string> path, FaultCode code, std::string message);
  [[nodiscard]] bool none() const { return faults_.empty(); }
  // In the order they were found; a last one says how many were not kept.
  [[nodiscard]] std::vector<DefinitionFault> take() &&;
  // `; did you mean "after"?`, or nothing when no candidate is close. The search is slow, so only
  // the first faults get a hint.
  std::string hint(std::string_view word, const std::vector<std::string_view>& candidates);

 private:
  std::vector<DefinitionFault> faults_;
  std::size_t left_out_ = 0;
  std::size_t hints_ = 0;
};

class SpecLocation {
 public:
  // The whole spec. The faults must outlive the location.
  SpecLocation(Faults& faults, FaultCode code, std::string_view subject)
      : faults_(&faults), code_(code), subject_(subject) {}

  [[nodiscard]] SpecLocation at(std::string_view member) const;
  [[nodiscard]] SpecLocation at(std::size_t index) const;
  [[nodiscard]] SpecLocation with(FaultCode code) const;
  // Messages about this value and its members start with the subject: "step charge".
  [[nodiscard]] SpecLocation called(std::string_view subject) const;

  // How messages name it: the subject and the way to the value from there.
  [[nodiscard]] std::string label() const;
  // `what` continues the label: "must be a string".
  void fault(std::string_view what) const { fault(code_, what); }
  void fault(FaultCode code, std::string_view what) const;
  // A member that is not allowed: `step "ship": unknown field "afer"`.
  void member_fault(std::string_view member, std::string_view what) const;
  // A fault in a part of this value that has no location of its own; `part` is its path, may be
  // empty: `the transition from "a" to "b": when.all[1].eq: unknown operator "eq"`.
  void part_fault(std::string_view part, std::string_view what) const;
  [[nodiscard]] Faults& faults() const { return *faults_; }
  [[nodiscard]] FaultCode code() const { return code_; }

 private:
  Faults* faults_;
  FaultCode code_;
  std::string subject_;
  std::size_t subject_depth_ = 0;  // how many parts of the path the subject stands for
  std::vector<std::string> path_;
};

// a, b, c: at most eight.
std::string name_list(const std::vector<std::string_view>& names);

}  // namespace holdfast

#include "runs/language/definition/faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/closest_word.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxHints = 20;
constexpr std::size_t kMaxShownNames = 8;

}  // namespace

void Faults::add(std::vector<std::string> path, FaultCode code, std::string message) {
  if (faults_.size() >= kMaxFaults) {
    ++left_out_;
    return;
  }
  faults_.push_back({std::move(path), std::string(to_text(code)), std::move(message)});
}

std::vector<DefinitionFault> Faults::take() && {
  if (left_out_ > 0) {
    faults_.push_back({{},
                       std::string(to_text(FaultCode::invalid_spec)),
                       fmt::format("{} more faults are not shown", left_out_)});
  }
  return std::move(faults_);
}

std::string Faults::hint(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (hints_ == kMaxHints) {
    return "";
  }
  ++hints_;
  const std::string_view closest = closest_word(word, candidates);
  return closest.empty() ? "" : fmt::format("; did you mean {}?", quote(closest));
}

SpecLocation SpecLocation::at(std::string_view member) const {
  SpecLocation inner = *this;
  inner.path_.emplace_back(member);
  return inner;
}

SpecLocation SpecLocation::at(std::size_t index) const { return at(std::to_string(index)); }

SpecLocation SpecLocation::with(FaultCode code) const {
  SpecLocation same = *this;
  same.code_ = code;
  return same;
}

SpecLocation SpecLocation::called(std::string_view subject) const {
  SpecLocation same = *this;
  same.subject_ = subject;
  same.subject_depth_ = path_.size();
  return same;
}

std::string SpecLocation::label() const {
  std::vector<std::string> inner(path_.begin() + static_cast<std::ptrdiff_t>(subject_depth_),
                                 path_.end());
  for (std::string& part : inner) {
    part = printable(part, kMaxShownBytes);
  }
  return inner.empty() ? subject_ : fmt::format("{}: {}", subject_, path_text(inner));
}

void SpecLocation::fault(FaultCode code, std::string_view what) const {
  faults_->add(path_, code, fmt::format("{} {}", label(), what));
}

void SpecLocation::member_fault(std::string_view member, std::string_view what) const {
  faults_->add(at(member).path_, code_, fmt::format("{}: {}", label(), what));
}

void SpecLocation::part_fault(std::string_view part, std::string_view what) const {
  const bool is_item = part.empty() || part.starts_with('[');
  faults_->add(path_, code_,
               fmt::format("{}{}{}: {}", label(), is_item ? "" : ".",
                           printable(part, kMaxShownBytes), what));
}

std::string name_list(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxShownNames); ++i) {
    text += (i == 0 ? "" : ", ") + printable(names[i], kMaxShownBytes);
  }
  return names.size() <= kMaxShownNames
             ? text
             : fmt::format("{} and {} more", text, names.size() - kMaxShownNames);
}

}  // namespace holdfast

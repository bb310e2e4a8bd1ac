#include "definition/faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxHints = 20;
constexpr std::size_t kMaxCandidates = 1000;
constexpr std::size_t kMaxHintBytes = 40;
constexpr std::size_t kMaxShownBytes = 128;
constexpr std::size_t kMaxShownNames = 8;

// How many letters to add, drop, change or swap with their neighbour.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> cost(left.size() + 1,
                                             std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) {
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[left.size()][right.size()];
}

// Whole characters only, so that what is shown stays UTF-8.
std::string_view cut(std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_sequence_length(text.substr(bytes)));
    if (bytes + length > kMaxShownBytes) {
      break;
    }
    bytes += length;
  }
  return text.substr(0, bytes);
}

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
                       fmt::format("there are {} more faults", left_out_)});
  }
  return std::move(faults_);
}

std::string Faults::hint(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (hints_ == kMaxHints || word.size() > kMaxHintBytes) {
    return "";
  }
  ++hints_;
  std::string_view best;
  // One letter of three may be wrong: what differs more is another word.
  std::size_t least = std::min<std::size_t>(2, (word.size() + 1) / 3) + 1;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMaxCandidates); ++i) {
    const std::string_view candidate = candidates[i];
    const std::size_t longer = std::max(candidate.size(), word.size());
    if (longer - std::min(candidate.size(), word.size()) >= least) {
      continue;
    }
    const std::size_t far = distance(word, candidate);
    if (far < least) {
      least = far;
      best = candidate;
    }
  }
  return best.empty() ? "" : fmt::format(", did you mean {}?", quoted(best));
}

SpecPlace SpecPlace::at(std::string_view member) const {
  SpecPlace inner = *this;
  inner.path_.emplace_back(member);
  return inner;
}

SpecPlace SpecPlace::at(std::size_t index) const { return at(std::to_string(index)); }

SpecPlace SpecPlace::with(FaultCode code) const {
  SpecPlace same = *this;
  same.code_ = code;
  return same;
}

SpecPlace SpecPlace::called(std::string_view subject) const {
  SpecPlace same = *this;
  same.subject_ = subject;
  same.subject_depth_ = path_.size();
  return same;
}

std::string SpecPlace::label() const {
  std::vector<std::string> inner(path_.begin() + static_cast<std::ptrdiff_t>(subject_depth_),
                                 path_.end());
  for (std::string& part : inner) {
    part = cut(part);
  }
  return inner.empty() ? subject_ : fmt::format("{}: {}", subject_, path_text(inner));
}

void SpecPlace::fault(FaultCode code, std::string_view what) const {
  faults_->add(path_, code, fmt::format("{} {}", label(), what));
}

std::string quoted(std::string_view text) {
  const std::string_view shown = cut(text);
  return fmt::format("\"{}{}\"", shown, shown.size() < text.size() ? "..." : "");
}

std::string name_list(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxShownNames); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(cut(names[i]));
  }
  return names.size() <= kMaxShownNames
             ? text
             : fmt::format("{} and {} more", text, names.size() - kMaxShownNames);
}

}  // namespace holdfast

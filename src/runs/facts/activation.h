// Activation: what the `step` of a runnable names: a step, its visit, an item of it, or the
// compensation of one of these. See Runnable.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/shared_text.h"

namespace holdfast {

inline constexpr std::string_view kCompensatePrefix = "compensate:";
// Stands for the output of the run where its mapping has a fault. No step can have the name.
inline constexpr std::string_view kOutputStep = "__output__";

struct Activation {
  std::string_view step;
  std::uint32_t visit = 1;
  std::optional<std::uint64_t> item;
  bool compensation = false;
};

// Views into the text. A text that is not an activation is a step of that name.
Activation parse_activation(std::string_view text);

// charge, charge@2
SharedText visit_name(std::string_view step, std::uint32_t visit);
// charge[7]
SharedText item_name(std::string_view visit, std::uint64_t item);
// The visit an item belongs to: charge@2 of charge@2[7].
std::string_view without_item(std::string_view activation);
bool is_item(std::string_view activation);
inline bool is_compensation(std::string_view activation) {
  return activation.starts_with(kCompensatePrefix);
}

}  // namespace holdfast

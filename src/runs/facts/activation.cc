#include "runs/facts/activation.h"

#include <fmt/format.h>

#include "base/text.h"

namespace holdfast {

namespace {

// Takes "<open><number><close>" off the end; empty when it is not there.
std::optional<std::uint64_t> take_number(std::string_view& text, char open,
                                         std::string_view close) {
  const std::size_t at = text.rfind(open);
  if (at == std::string_view::npos || at == 0 || !text.ends_with(close)) {
    return std::nullopt;
  }
  const auto number = parse_decimal(text.substr(at + 1, text.size() - at - 1 - close.size()));
  if (number.has_value()) {
    text = text.substr(0, at);
  }
  return number;
}

}  // namespace

Activation parse_activation(std::string_view text) {
  Activation activation;
  activation.compensation = is_compensation(text);
  if (activation.compensation) {
    text.remove_prefix(kCompensatePrefix.size());
  }
  activation.item = take_number(text, '[', "]");
  if (const auto visit = take_number(text, '@', "")) {
    activation.visit = static_cast<std::uint32_t>(*visit);
  }
  activation.step = text;
  return activation;
}

SharedText visit_name(std::string_view step, std::uint32_t visit) {
  return visit == 1 ? SharedText(step) : SharedText(fmt::format("{}@{}", step, visit));
}

SharedText item_name(std::string_view visit, std::uint64_t item) {
  return fmt::format("{}[{}]", visit, item);
}

std::string_view without_item(std::string_view activation) {
  return is_item(activation) ? activation.substr(0, activation.rfind('[')) : activation;
}

bool is_item(std::string_view activation) { return activation.ends_with(']'); }

}  // namespace holdfast

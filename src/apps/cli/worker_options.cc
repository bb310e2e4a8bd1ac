#include "apps/cli/worker_options.h"

#include <fmt/format.h>

namespace holdfast::cli {

void add_threads(Arguments& arguments, std::optional<std::uint64_t>& threads) {
  arguments.option("--threads", "N", threads, "Steps to execute at once (default: 4)");
}

Result<std::size_t> worker_threads(const std::optional<std::uint64_t>& option) {
  constexpr std::uint64_t kMaximum = 10'000;
  constexpr std::uint64_t kDefault = 4;
  if (option == 0U || option > kMaximum) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--threads needs a number from 1 to {}, not {}", kMaximum, *option)}
        .with("field", "threads");
  }
  return static_cast<std::size_t>(option.value_or(kDefault));
}

Result<void> register_all(Engine& engine, const Definitions& definitions) {
  for (const auto& definition : definitions) {
    HOLDFAST_CHECK(engine.register_workflow_json(definition->spec().view()));
  }
  return {};
}

}  // namespace holdfast::cli

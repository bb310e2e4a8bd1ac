// Executes an http step by the safe rules: only hosts that the definition allows, no redirects, no
// retries of its own, credentials only by name, responses bounded and redacted.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runs/language/definition/spec.h"
#include "runs/steps/step_output.h"

namespace holdfast {

inline constexpr std::size_t kKeptBodyBytes = 8192;

// The secret that a credential name stands for; empty if the name is unknown.
using CredentialSource = std::function<std::optional<std::string>(std::string_view name)>;

// defaults: headers that are sent unless the step sets them itself, in any case: Idempotency-Key,
// for example.
StepOutput run_http(const HttpSpec& spec, std::string_view input,
                    const std::vector<std::pair<std::string, std::string>>& defaults,
                    const CredentialSource& credentials, const std::stop_token& stop);

}  // namespace holdfast

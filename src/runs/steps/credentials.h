// Secrets of http steps from the environment of the process: the credential `stripe-key` is
// HOLDFAST_CREDENTIAL_STRIPE_KEY. Other variables cannot be read, so that no workflow can send them
// elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

std::optional<std::string> environment_credential(std::string_view name);

}  // namespace holdfast

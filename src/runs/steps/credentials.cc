#include "runs/steps/credentials.h"

#include <cctype>
#include <cstdlib>

namespace holdfast {

std::optional<std::string> environment_credential(std::string_view name) {
  std::string variable = "HOLDFAST_CREDENTIAL_";
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    variable += std::isalnum(letter) != 0 ? static_cast<char>(std::toupper(letter)) : '_';
  }
  const char* secret = std::getenv(variable.c_str());
  return secret == nullptr ? std::nullopt : std::optional<std::string>(secret);
}

}  // namespace holdfast

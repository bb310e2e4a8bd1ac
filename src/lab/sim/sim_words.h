// Helpers for texts: payloads of the engine as JSON, and the words of a command that an explanation
// advises.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/json_value.h"
#include "base/shared_text.h"

namespace holdfast::sim {

inline JsonText payload_text(const Payload& payload) {
  return JsonText::trusted(payload.empty() ? "null" : std::string(payload.view()));
}

inline std::vector<std::string> words_of(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

// The word after an option; empty if the option is missing.
inline std::string after_option(const std::vector<std::string>& words, const std::string& option) {
  const auto at = std::find(words.begin(), words.end(), option);
  return at == words.end() || std::next(at) == words.end() ? "" : *std::next(at);
}

}  // namespace holdfast::sim

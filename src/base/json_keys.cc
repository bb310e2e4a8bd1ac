#include "base/json_keys.h"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "base/json_slice.h"
#include "base/quote.h"

namespace holdfast {

namespace {

// An object or list that is open.
struct Open {
  bool is_object = false;
  bool key_is_next = false;
  std::unordered_set<std::string> keys = {};
  std::string key = {};   // the newest
  std::size_t index = 0;  // of the newest item
};

std::string path_of(const std::vector<Open>& open) {
  std::string path;
  for (const Open& part : open) {
    if (part.is_object) {
      path += (path.empty() ? "" : ".") + part.key;
    } else {
      path += fmt::format("[{}]", part.index);
    }
  }
  return path;
}

// The string literal at the start of valid JSON.
std::string_view string_literal(std::string_view text) {
  std::size_t end = 1;
  while (text[end] != '"') {
    end += text[end] == '\\' ? std::size_t{2} : std::size_t{1};
  }
  return text.substr(0, end + 1);
}

// Adds the key; false if its object already has it.
bool take_key(Open& object, std::string_view literal) {
  object.key_is_next = false;
  object.key = json_string_value(literal).value_or(std::string(literal));
  return object.keys.insert(object.key).second;
}

}  // namespace

std::optional<std::string> find_repeated_key(const JsonText& json) {
  const std::string_view text = json.view();
  std::vector<Open> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '{':
        open.push_back({.is_object = true, .key_is_next = true});
        break;
      case '[':
        open.push_back({});
        break;
      case '}':
      case ']':
        open.pop_back();
        break;
      case ',':
        open.back().key_is_next = open.back().is_object;
        ++open.back().index;
        break;
      case '"': {
        const std::string_view literal = string_literal(text.substr(at));
        if (!open.empty() && open.back().key_is_next && !take_key(open.back(), literal)) {
          return path_of(open);
        }
        at += literal.size() - 1;
        break;
      }
      default:
        break;
    }
  }
  return std::nullopt;
}

Result<void> check_unique_keys(const JsonText& json) {
  const auto repeated = find_repeated_key(json);
  if (!repeated.has_value()) {
    return {};
  }
  return Error{ErrorCode::invalid_json, fmt::format("the key {} appears twice", quote(*repeated))}
      .with("key", *repeated);
}

}  // namespace holdfast

#include "runs/api/json_object.h"

#include "base/json_keys.h"

namespace holdfast {

Result<Payload> object_of(std::string_view field, std::string_view text) {
  auto json = JsonText::parse(text);
  if (!json.ok()) {
    return std::move(json).error().in("the " + std::string(field));
  }
  if (!json.value().is_object()) {
    return Error{ErrorCode::invalid_argument,
                 "the " + std::string(field) + " must be a JSON object"}
        .with("field", field);
  }
  if (const auto unique = check_unique_keys(json.value()); !unique.ok()) {
    return Error(unique.error()).in("the " + std::string(field));
  }
  return Payload(json.value());
}

}  // namespace holdfast

#include "runs/run/error_origin.h"

#include "base/json_slice.h"
#include "runs/language/data/path.h"

namespace holdfast {

ErrorOrigin error_origin(const Payload& error) {
  ErrorOrigin origin;
  if (!error.is_object()) {
    return origin;
  }
  const ObjectView object(error.view());
  if (const auto step = object.member("step")) {
    origin.step = json_string_value(*step).value_or("");
  }
  origin.of_item = object.member("item").has_value();
  return origin;
}

}  // namespace holdfast

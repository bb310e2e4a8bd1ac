// Small texts the simulator makes of the engine's values.
#pragma once

#include <string>

#include "base/fields.h"
#include "base/json.h"
#include "base/shared_text.h"

namespace holdfast::sim {

inline JsonText payload_text(const Payload& payload) {
  return JsonText::trusted(payload.empty() ? "null" : std::string(payload.view()));
}

}  // namespace holdfast::sim

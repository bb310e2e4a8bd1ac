// What people attach to commands may hold secrets. They must not get into a journal, which is
// never changed.
#pragma once

#include "base/shared_text.h"

namespace holdfast {

// The same payload, but every value under a key that names a secret (password, token, api_key and
// the like, in any case, at any depth) is "[REDACTED]".
Payload redact(const Payload& payload);
// The same for one value that has this name.
Payload redact(std::string_view name, const Payload& value);

}  // namespace holdfast

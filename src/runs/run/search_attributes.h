// Search attributes: the few typed values by which a run can be found. Limits: 32 attributes; a
// key of 64 bytes (a lower-case letter, then lower-case letters, digits, '_', '.', '-'); a value
// is a string of 256 bytes, a 64-bit integer, a boolean or a list of up to 16 of those; 4096
// bytes in all, as JSON.
#pragma once

#include <map>
#include <string>

#include "base/shared_text.h"
#include "holdfast/result.h"

namespace holdfast {

using SearchAttributes = std::map<std::string, Payload>;

// What `current` becomes with the changes, an object; null removes a key. invalid_argument, with
// the field "attribute" where it is about one, when the changes or the result break a limit.
Result<SearchAttributes> with_changes(const SearchAttributes& current, const Payload& changes);

}  // namespace holdfast

// Words for people that several views use.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/shared_text.h"

namespace holdfast {

// "850 ms", "2.5 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"
std::string duration_text(std::int64_t ms);
// "card declined [card_error]": the message of an error of a step or a run; the text itself if it
// is not such an object. One line, harmless, cut off if long, without values of secret keys.
std::string error_text(const Payload& error);
// "1 run", "3 runs": every count that people read is formatted here. Without `many` the plural
// is `one` with an s.
std::string counted(std::uint64_t number, std::string_view one, std::string_view many = "");
// The step that a runnable key of ours names: charge of <run id>:charge:2, and of the keys that
// are made from it (<run id>:charge:2:timeout, ...:deferred:3).
std::string step_of_key(std::string_view runnable_key);
// The name of a handler as people know it: exec, http, or its own.
std::string handler_text(std::string_view handler);
// A text of a user, safe to print in a line: everything that a terminal could interpret as more
// than a character becomes a space.
std::string harmless(std::string_view text);
// The same, at most so many bytes; "..." shows that there was more.
std::string one_line(std::string_view text, std::size_t max_bytes = 200);

}  // namespace holdfast

// Words for people that several views use.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/shared_text.h"

namespace holdfast {

// "850 ms", "2.5 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"
std::string duration_text(std::int64_t ms);
// "card declined [card_error]": what an error of a step or a run says; the text itself when it is
// no such object. One line, harmless, cut off when it is long, without what a key calls a secret.
std::string error_text(const Payload& error);
// "1 run", "3 runs": every number of something that people read is made here. Without `many` it is
// `one` with an s.
std::string counted(std::uint64_t number, std::string_view one, std::string_view many = "");
// The step that a runnable key of ours names: charge of <run id>:charge:2, and of the keys that
// are made from it (<run id>:charge:2:timeout, ...:deferred:3).
std::string step_of_key(std::string_view runnable_key);
// The name of a handler as people know it: exec, http, or its own.
std::string handler_text(std::string_view handler);
// What somebody wrote, as it may stand in a line: everything that a terminal could take for more
// than a character is a space.
std::string harmless(std::string_view text);
// The same, at most so many bytes; "..." tells that there was more.
std::string one_line(std::string_view text, std::size_t max_bytes = 200);

}  // namespace holdfast

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
// no such object. One line, cut off when it is long, without control characters.
std::string error_text(const Payload& error);
// The step that a runnable key of ours names: charge of <run id>:charge:2.
std::string step_of_key(std::string_view runnable_key);
// The name of a handler as people know it: exec, http, or its own.
std::string handler_text(std::string_view handler);
// One line: control characters as spaces, at most so many bytes.
std::string one_line(std::string_view text, std::size_t max_bytes = 200);

}  // namespace holdfast

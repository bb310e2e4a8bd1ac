// Arguments that stand for something: JSON, files, times, words of a shell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "holdfast/result.h"

namespace holdfast {

// The JSON object that an argument stands for: itself, @FILE or - (standard input); {} when empty.
Result<std::string> json_argument(std::string_view field, const std::string& argument);
// {"customer":"ann","total":12} of customer=ann and total=12; empty when there are none.
Result<std::string> attributes_argument(const std::vector<std::string>& attributes);
// A time or an age, as it is now. invalid_argument.
Result<TimeMs> time_argument(std::string_view field, const std::string& text, TimeMs now);
// The whole file. not_found, permission_denied, invalid_argument (too long for a workflow).
Result<std::string> read_file_argument(const std::string& file);
// Bytes of a file, or of standard input (-): all, or some more than max_bytes when there are more.
// not_found, permission_denied, invalid_argument; the message does not name the file.
Result<std::string> read_bytes(const std::string& file, std::size_t max_bytes);

// A word of a shell command, quoted when it must be.
std::string shell_word(std::string_view text);

}  // namespace holdfast

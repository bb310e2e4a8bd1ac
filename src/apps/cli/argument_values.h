// Values of arguments: JSON, files, times, and words of a shell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// The JSON object that an argument gives: itself, @FILE or - (standard input); {} when empty.
Result<std::string> json_argument(std::string_view field, const std::string& argument);
// {"customer":"ann","total":12} of customer=ann and total=12; empty for none.
Result<std::string> attributes_argument(const std::vector<std::string>& attributes);
// A time, or an age before now. Fails with invalid_argument.
Result<TimeMs> time_argument(std::string_view field, const std::string& text, TimeMs now);
// Milliseconds of a duration: 200ms, 3s, 1h30m. Fails with invalid_argument.
Result<std::uint64_t> duration_argument(std::string_view field, const std::string& text);
// The whole file, or standard input (-). Fails with not_found, permission_denied, invalid_argument
// or too_large.
Result<std::string> read_file_argument(const std::string& file);

// A word of a shell command, quoted if necessary.
std::string shell_word(std::string_view text);

}  // namespace holdfast::cli

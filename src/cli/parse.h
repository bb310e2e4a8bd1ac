// From arguments to a command. The command-line library stays in parse.cc.
#pragma once

#include <span>

#include "base/result.h"
#include "cli/options.h"

namespace holdfast {

// The first argument is the name of the program. invalid_argument, with a message that says
// which help to read.
Result<CommandLine> parse_command_line(std::span<char*> arguments);

}  // namespace holdfast

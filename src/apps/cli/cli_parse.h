// From arguments to a command. The command-line library stays in the parse*.cc files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/cli/cli_options.h"
#include "holdfast/result.h"

namespace holdfast {

// The first argument is the name of the program. invalid_argument, with a message that says
// which help to read.
Result<CommandLine> parse_command_line(std::span<char*> arguments);

// What can be typed, for completion and the manual page.
struct CommandShape {
  struct Option {
    std::string name;  // --store
    std::string description;
    std::string type;  // URL; empty: it takes no value
  };
  std::string name;
  std::string description;
  std::string more;                    // how it behaves, and examples
  std::vector<std::string> arguments;  // RUN, FILE
  std::vector<Option> options;
  std::vector<CommandShape> commands;
};
CommandShape program_shape();

}  // namespace holdfast

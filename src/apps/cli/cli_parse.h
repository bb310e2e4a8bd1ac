// From arguments to a command. Only cli_parse.cc, parse_usage.cc and arguments.cc include the
// command-line library.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/cli/command.h"

namespace holdfast::cli {

struct CommandLine {
  std::string text = {};   // help or version to print; empty: a command to run
  CommandRunner run = {};  // the command; empty when there is a text
  Form form = Form::text;
};

// The first argument is the name of the program. Fails with invalid_argument; the message names
// the help to read.
Result<CommandLine> parse_command_line(std::span<char*> arguments);

// One command and what it takes, for completion and the manual page.
struct CommandShape {
  struct Option {
    std::string name;  // --store
    std::string description;
    std::string type;  // URL; empty: it takes no value
  };
  std::string name;
  std::string description;
  std::string details;
  std::vector<std::string> arguments;  // RUN, FILE
  std::vector<Option> options;
  std::vector<CommandShape> commands;
};
CommandShape program_shape();

}  // namespace holdfast::cli

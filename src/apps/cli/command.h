// Command: one command of the program: name, help, options and implementation. Each is defined in
// one file, command_NAME.cc, and listed in command_table.cc. Parsing, help, "did you mean",
// completion and the manual page are all made from that list.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "apps/cli/arguments.h"
#include "apps/cli/cli_context.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// Runs a command with the values that were parsed for it. Prints the result to context.out; the
// caller prints the error.
using CommandRunner = std::function<Result<void>(Context& context)>;

struct Command {
  std::string_view name;  // "show", "journal cat"
  const char* summary;    // one line
  const char* details;    // behaviour, examples, exit codes that are its own
  CommandRunner (*declare)(Arguments& arguments);
};

template <typename T>
CommandRunner declare_command(Arguments& arguments) {
  auto command = std::make_shared<T>();
  command->declare(arguments);
  return [command](Context& context) { return command->run(context); };
}

// T has one member per argument and option, `void declare(Arguments&)` and
// `Result<void> run(Context&) const`.
template <typename T>
constexpr Command make_command(std::string_view name, const char* summary, const char* details) {
  return {name, summary, details, declare_command<T>};
}

// "journal" of "journal cat".
struct CommandFamily {
  std::string_view name;
  const char* summary;
  const char* details;
};

// Commands under one title in `holdfast --help`.
struct CommandGroup {
  const char* title;
  std::vector<const Command*> commands;
};

// In the order of `holdfast --help`.
const std::vector<CommandGroup>& command_groups();
const std::vector<CommandFamily>& command_families();

}  // namespace holdfast::cli

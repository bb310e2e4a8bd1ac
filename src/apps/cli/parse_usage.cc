#include "apps/cli/parse_usage.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "runs/language/definition/faults.h"

namespace holdfast::cli {

namespace {

std::string hint(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return Faults().hint(word, views);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> argument_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      names.push_back(option->get_name(true));
    }
  }
  return names;
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  std::string meant = hint(word, names);
  if (meant.empty()) {
    meant = hint("--" + word, option_names(app));
  }
  return fmt::format("unknown command \"{} {}\"{}", path_of(app), word, meant);
}

std::string unknown_option(const CLI::App& app, const CLI::App& program, std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  const CLI::App& command = deepest(program);
  const std::vector<std::string> known = option_names(command);
  if (&app != &command && std::find(known.begin(), known.end(), name) != known.end()) {
    return fmt::format("put {} after \"{}\"", name, path_of(command));
  }
  return fmt::format("{} has no option {}{}", path_of(app), name, hint(name, option_names(app)));
}

std::string extra_argument(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = argument_names(app);
  if (names.empty()) {
    return fmt::format("{} takes no arguments, but got \"{}\"", path_of(app), word);
  }
  return fmt::format("{} takes only {}; unexpected argument \"{}\"", path_of(app),
                     fmt::join(names, " "), word);
}

// The argument that no command or option takes.
std::string unexpected(const CLI::App& program) {
  const CLI::App* app = &program;
  while (app->remaining().empty() && !app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
  }
  const std::vector<std::string> words = app->remaining();
  if (words.empty()) {
    return "too many arguments";
  }
  const bool has_commands = !app->get_subcommands({}).empty();
  if (has_commands && app->get_subcommands().empty() && !is_option(words.front())) {
    return unknown_command(*app, words.front());
  }
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  return option != words.end() ? unknown_option(*app, program, *option)
                               : extra_argument(*app, words.front());
}

std::string missing(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == name || option->get_name(true) == name) {
      return fmt::format("{} needs {}: {}", path_of(app), name, option->get_description());
    }
  }
  return fmt::format("{} needs {}", path_of(app), name);
}

// An option without a value, or with more than one.
std::string mismatched(const CLI::App& app, std::string_view message) {
  const std::string name(message.substr(0, message.find(':')));
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() != name) {
      continue;
    }
    if (option->count() > 1) {
      return fmt::format("{} is given {} times; it takes one value", name, option->count());
    }
    return fmt::format("{} needs a value: {} {}", name, name, option->get_type_name());
  }
  return std::string(message);
}

std::string message_of(const CLI::App& program, const CLI::ParseError& error) {
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return unexpected(program);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return missing(deepest(program), message.substr(0, message.find(' ')));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return mismatched(deepest(program), message);
  }
  return message;
}

Error usage(std::string message, const CLI::App& app) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  return Error{
      ErrorCode::invalid_argument,
      fmt::format("{}{} see {} --help", message, message.ends_with('?') ? "" : ";", path_of(app))};
}

}  // namespace

std::string path_of(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.get_name() : path_of(*parent) + " " + app.get_name();
}

const CLI::App& deepest(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
  }
  return *app;
}

Error usage_error(const CLI::App& program, const CLI::ParseError& error) {
  return usage(message_of(program, error), deepest(program));
}

Result<const CLI::App*> find_command(const CLI::App& program,
                                     const std::vector<std::string>& names) {
  const CLI::App* app = &program;
  for (const std::string& name : names) {
    const auto commands = app->get_subcommands({});
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->get_name() == name;
    });
    if (found == commands.end()) {
      return usage(unknown_command(*app, name), *app);
    }
    app = *found;
  }
  return app;
}

std::string not_one_of(std::string_view word, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), word) != words.end()) {
    return "";
  }
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return fmt::format("must be {}, not \"{}\"{}", list, word, hint(word, words));
}

}  // namespace holdfast::cli

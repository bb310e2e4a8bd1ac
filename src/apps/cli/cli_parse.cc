#include "apps/cli/cli_parse.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/cli/man_page.h"
#include "apps/cli/parse_usage.h"

namespace holdfast::cli {

namespace {

constexpr const char* kSummary =
    "Holdfast runs durable workflows: a run survives crashes, restarts and lost workers, and you\n"
    "can query at any time what it is doing and why.";
constexpr const char* kDetails = R"(First commands to try, with a workflow in order.yaml:
  holdfast run order.yaml --input '{"total":12}'   # start a run and follow its progress
  holdfast list                                    # list the runs in the store
  holdfast explain latest                          # why the run is where it is, what to do next
  holdfast timeline latest                         # what happened, and how long it took
  holdfast work --drain                            # execute all steps that are ready

A store holds the runs: sqlite:PATH or postgres://USER@HOST/DATABASE?schema=NAME. Name it with
--store or HOLDFAST_STORE; the default is sqlite:holdfast.db in the current directory. To use a
store through a server (`holdfast server`), name the server with --server or HOLDFAST_SERVER; the
commands and their output are the same.

`holdfast help COMMAND` shows the options and examples of a command, `holdfast help --man` prints
the manual page.

Exit codes:
  0    success
  1    success with a negative result: the run failed or was cancelled, doctor found a fault
  2    invalid request: wrong arguments, missing file, unknown run, not a journal
  3    the data is damaged
  4    conflict: another writer was first, nothing was written
  5    the store, the server or the system failed
  6    the run waits for a decision, an event or another worker (run --until-blocked)
  7    no daemon runs
  8    the daemon runs, and something is wrong with it (daemon status)
  9    not authenticated: the membership has ended
  78   the configuration, or a broker, does not allow the daemon to start
  130  interrupted by Ctrl-C)";
constexpr const char* kExitCodes =
    "\n\nExit codes: 0 success; failures as listed in `holdfast --help`.";

// Every help text ends with the exit codes.
std::string with_exit_codes(const char* details) {
  const std::string text = details;
  return text.find("Exit code") == std::string::npos ? text + kExitCodes : text;
}

class Parser {
 public:
  Parser() : app_(kSummary, "holdfast") {
    app_.footer(kDetails);
    app_.get_formatter()->column_width(26);
    app_.set_version_flag("--version", "holdfast " HOLDFAST_VERSION, "Print the version and exit");
    app_.require_subcommand(0, 1);
    for (const CommandGroup& group : command_groups()) {
      for (const Command* const command : group.commands) {
        add(*command, group.title);
      }
    }
    app_.add_subcommand("help", "Print the help of a command: holdfast help COMMAND")
        ->group("Help");
  }

  Result<CommandLine> parse(std::span<char*> arguments) {
    if (arguments.size() > 1 && std::string_view(arguments[1]) == "help") {
      return help_for({arguments.begin() + 2, arguments.end()});
    }
    std::vector<char*> words(arguments.begin(), arguments.end());
    // `daemon outbox list` is another name of `outbox list`.
    if (words.size() > 2 && std::string_view(words[1]) == "daemon" &&
        (std::string_view(words[2]) == "outbox" || std::string_view(words[2]) == "inbox")) {
      words.erase(words.begin() + 1);
    }
    try {
      app_.parse(static_cast<int>(words.size()), words.data());
    } catch (const CLI::CallForVersion&) {
      return CommandLine{.text = app_.version() + "\n"};
    } catch (const CLI::CallForHelp&) {
      return help_of(deepest(app_));
    } catch (const CLI::ParseError& error) {
      return usage_error(app_, error);
    }
    for (const Declared& declared : declared_) {
      if (declared.app->parsed()) {
        return CommandLine{.run = declared.run, .form = *declared.json ? Form::json : Form::text};
      }
    }
    return help_of(deepest(app_));
  }

  [[nodiscard]] CommandShape shape() const { return shape_of(app_); }

 private:
  struct Declared {
    CLI::App* app;
    CommandRunner run;
    std::shared_ptr<bool> json;
  };

  void add(const Command& command, const char* group) {
    const std::size_t space = command.name.rfind(' ');
    const bool nested = space != std::string_view::npos;
    CLI::App& parent = nested ? family(command.name.substr(0, space), group) : app_;
    const std::string name(nested ? command.name.substr(space + 1) : command.name);
    CLI::App* const app = parent.add_subcommand(name, command.summary);
    app->footer(with_exit_codes(command.details));
    if (!nested) {
      app->group(group);
    }
    auto json = std::make_shared<bool>(false);
    app->add_flag("--json", *json, "Print JSON instead of text");
    Arguments arguments(*app);
    declared_.push_back({app, command.declare(arguments), std::move(json)});
  }

  CLI::App& family(std::string_view name, const char* group) {
    if (const auto known = families_.find(std::string(name)); known != families_.end()) {
      return *known->second;
    }
    const auto& families = command_families();
    const auto family = std::find_if(families.begin(), families.end(),
                                     [&](const CommandFamily& one) { return one.name == name; });
    HOLDFAST_ASSERT(family != families.end());
    // "broker topic" is a family within "broker".
    const std::size_t space = name.rfind(' ');
    const bool nested = space != std::string_view::npos;
    CLI::App& parent = nested ? this->family(name.substr(0, space), group) : app_;
    CLI::App* const app =
        parent.add_subcommand(std::string(nested ? name.substr(space + 1) : name), family->summary);
    app->footer(family->details);
    if (!nested) {
      app->group(group);
    }
    app->require_subcommand(0, 1);
    families_[std::string(name)] = app;
    return *app;
  }

  static CommandLine help_of(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    return CommandLine{.text = app.help(parent == nullptr ? "" : path_of(*parent))};
  }

  // holdfast help, help journal cat, help --man
  [[nodiscard]] Result<CommandLine> help_for(const std::vector<std::string>& words) const {
    if (words == std::vector<std::string>{"--man"}) {
      return CommandLine{.text = man_page(shape())};
    }
    std::vector<std::string> names;
    std::copy_if(words.begin(), words.end(), std::back_inserter(names),
                 [](const std::string& word) { return !word.starts_with('-') && word != "help"; });
    HOLDFAST_TRY(const CLI::App* const app, find_command(app_, names));
    return help_of(*app);
  }

  static CommandShape shape_of(const CLI::App& app) {
    CommandShape shape;
    shape.name = app.get_name();
    shape.description = app.get_description();
    shape.details = app.get_footer();
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) {
        shape.arguments.push_back(option->get_name(true));
        continue;
      }
      for (const std::string& name : option->get_lnames()) {
        shape.options.push_back(
            {"--" + name, option->get_description(),
             option->get_items_expected_max() > 0 ? option->get_type_name() : std::string()});
      }
    }
    for (const CLI::App* command : app.get_subcommands({})) {
      shape.commands.push_back(shape_of(*command));
    }
    return shape;
  }

  CLI::App app_;
  std::map<std::string, CLI::App*> families_;
  std::vector<Declared> declared_;
};

}  // namespace

Result<CommandLine> parse_command_line(std::span<char*> arguments) {
  Parser parser;
  return parser.parse(arguments);
}

CommandShape program_shape() { return Parser().shape(); }

}  // namespace holdfast::cli

#include "apps/cli/cli_parse.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/cli_help.h"
#include "apps/cli/grammar.h"
#include "apps/cli/man_page.h"
#include "apps/cli/parse_usage.h"
#include "base/text.h"

namespace holdfast {

CLI::App* Grammar::add_leaf(CLI::App& parent, const std::string& name, const char* description,
                            const char* examples, std::function<AnyCommand()> command) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->footer(examples);
  auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "Print JSON for programs");
  leaves_.push_back(Leaf{app, std::move(command), json});
  return app;
}

CLI::App& Grammar::add_family(CLI::App& parent, const std::string& name, const char* description,
                              const char* examples) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->footer(examples);
  app->require_subcommand(0, 1);
  return *app;
}

namespace {

// The library's own numbers also read 010 as 8.
template <typename Number>
void add_decimal(CLI::App& app, const std::string& name, Number& target, const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &target](const std::string& text) {
           const auto number = parse_decimal(text);
           if (!number.has_value()) {
             throw CLI::ValidationError(
                 fmt::format("{} needs a whole number, not \"{}\"", name, text));
           }
           target = *number;
         },
         help)
      ->type_name("N");
}

}  // namespace

void add_number(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& target,
                const std::string& help) {
  add_decimal(app, name, target, help);
}

void add_number(CLI::App& app, const std::string& name, std::uint64_t& target,
                const std::string& help) {
  add_decimal(app, name, target, help);
}

void add_text(CLI::App& app, const std::string& name, std::string& target,
              const std::string& help) {
  app.add_option(name, target, help)->required()->type_name("");
}

void add_option(CLI::App& app, const std::string& name, std::string& target, const char* type,
                const std::string& help) {
  app.add_option(name, target, help)->type_name(type);
}

void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& target,
              const char* type, const std::string& help) {
  // One value for each time it is named, so that what follows is not taken for more.
  app.add_option(name, target, help)
      ->type_name(type)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

CLI::Option* limit_to(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check([words](const std::string& word) { return not_one_of(word, words); },
                       fmt::format("{{{}}}", fmt::join(words, ",")));
}

void add_server(CLI::App& app, BackendOptions& backend) {
  add_option(app, "--server", backend.server, "URL",
             "A server: http://HOST:PORT, https://…, unix:PATH (default: $HOLDFAST_SERVER)");
  add_option(app, "--token-file", backend.token_file, "FILE",
             "With the token for the server (default: $HOLDFAST_TOKEN itself)");
  add_option(app, "--tls-ca", backend.tls_ca, "FILE",
             "Who vouches for the server, PEM (default: $HOLDFAST_TLS_CA, else the system)");
}

void add_backend(CLI::App& app, BackendOptions& backend) {
  add_option(app, "--store", backend.store, "URL",
             "The store (default: $HOLDFAST_STORE, else sqlite:holdfast.db)");
  add_server(app, backend);
}

namespace {

class Parser {
 public:
  Parser() : app_(help::kProgram, "holdfast") {
    app_.footer(help::kProgramExamples);
    app_.get_formatter()->column_width(26);
    app_.set_version_flag("--version", "holdfast " HOLDFAST_VERSION, "Print the version and exit");
    app_.require_subcommand(0, 1);
    add_run_commands(grammar_, app_);
    add_workflow_commands(grammar_, app_);
    add_server_commands(grammar_, app_);
    add_journal_commands(grammar_, app_);
    add_simulate_command(grammar_, app_);
    add_bench_commands(grammar_, app_);
    app_.add_subcommand("help", "Print help: holdfast help COMMAND; help --man: the manual page");
  }

  Result<CommandLine> parse(std::span<char*> arguments) {
    if (arguments.size() > 1 && std::string_view(arguments[1]) == "help") {
      return help_for({arguments.begin() + 2, arguments.end()});
    }
    try {
      app_.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::CallForVersion&) {
      return CommandLine{ShowText{app_.version() + "\n"}};
    } catch (const CLI::CallForHelp&) {
      return help_of(deepest(app_));
    } catch (const CLI::ParseError& error) {
      return usage_error(app_, error);
    }
    for (const Leaf& leaf : grammar_.leaves()) {
      if (leaf.app->parsed()) {
        return CommandLine{leaf.command(), *leaf.json ? OutputForm::json : OutputForm::text};
      }
    }
    return help_of(deepest(app_));
  }

  [[nodiscard]] CommandShape shape() const { return shape_of(app_); }

 private:
  static CommandLine help_of(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    return CommandLine{ShowText{app.help(parent == nullptr ? "" : path_of(*parent))}};
  }

  // holdfast help, help journal cat, help --man
  [[nodiscard]] Result<CommandLine> help_for(const std::vector<std::string>& words) const {
    if (words == std::vector<std::string>{"--man"}) {
      return CommandLine{ShowText{man_page(shape())}};
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
    shape.more = app.get_footer();
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) {
        shape.arguments.push_back(option->get_name(true));
      } else {
        for (const std::string& name : option->get_lnames()) {
          shape.options.push_back(
              {"--" + name, option->get_description(),
               option->get_items_expected_max() > 0 ? option->get_type_name() : std::string()});
        }
      }
    }
    for (const CLI::App* command : app.get_subcommands({})) {
      shape.commands.push_back(shape_of(*command));
    }
    return shape;
  }

  CLI::App app_;
  Grammar grammar_;
};

}  // namespace

Result<CommandLine> parse_command_line(std::span<char*> arguments) {
  Parser parser;
  return parser.parse(arguments);
}

CommandShape program_shape() { return Parser().shape(); }

}  // namespace holdfast

// Grammar: how commands are declared. One file per family declares its own (parse_*.cc).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/cli_options.h"
#include "apps/cli/help_runs.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace holdfast {

// One command that can be run, and how to take what was parsed for it.
struct Leaf {
  CLI::App* app;
  std::function<AnyCommand()> command;
  std::shared_ptr<bool> json;
};

class Grammar {
 public:
  // A command with its own options. They are good as long as the grammar.
  template <typename Options>
  std::pair<CLI::App*, Options*> add(CLI::App& parent, const std::string& name,
                                     const char* description, const char* examples) {
    auto options = std::make_shared<Options>();
    return {
        add_leaf(parent, name, description, examples, [options] { return AnyCommand(*options); }),
        options.get()};
  }
  // A command that only has other commands.
  static CLI::App& add_family(CLI::App& parent, const std::string& name, const char* description,
                              const char* examples);

  [[nodiscard]] const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  CLI::App* add_leaf(CLI::App& parent, const std::string& name, const char* description,
                     const char* examples, std::function<AnyCommand()> command);

  std::vector<Leaf> leaves_;
};

// --name N: decimal only.
void add_number(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& target,
                const std::string& help);
// The same, with what it is when it is not given.
void add_number(CLI::App& app, const std::string& name, std::uint64_t& target,
                const std::string& help);
// NAME: must be given.
void add_text(CLI::App& app, const std::string& name, std::string& target, const std::string& help);
// --name TYPE
void add_option(CLI::App& app, const std::string& name, std::string& target, const char* type,
                const std::string& help);
void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& target,
              const char* type, const std::string& help);

// Only these words; another one is refused with the list of them.
CLI::Option* limit_to(CLI::Option* option, const std::vector<std::string>& words);

// --server, --token-file, --tls-ca
void add_server(CLI::App& app, BackendOptions& backend);
// The same, and --store in place of it.
void add_backend(CLI::App& app, BackendOptions& backend);
// A command that works on a store or a server.
template <typename Options>
std::pair<CLI::App*, Options*> add_backend_command(Grammar& grammar, CLI::App& parent,
                                                   const std::string& name,
                                                   const help::Text& text) {
  auto added = grammar.add<Options>(parent, name, text.what, text.examples);
  add_backend(*added.first, added.second->backend);
  return added;
}

void add_journal_commands(Grammar& grammar, CLI::App& program);
void add_run_commands(Grammar& grammar, CLI::App& program);
void add_workflow_commands(Grammar& grammar, CLI::App& program);
void add_server_commands(Grammar& grammar, CLI::App& program);
void add_simulate_command(Grammar& grammar, CLI::App& program);
void add_bench_commands(Grammar& grammar, CLI::App& program);

}  // namespace holdfast

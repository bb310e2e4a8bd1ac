#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/cli_parse.h"

namespace holdfast::cli {

namespace {

// "journal cat", and what may follow it.
struct CommandPath {
  std::string path;
  const CommandShape* shape;
};

void collect(const CommandShape& shape, const std::string& path, std::vector<CommandPath>& paths) {
  paths.push_back({path, &shape});
  for (const CommandShape& command : shape.commands) {
    collect(command, path.empty() ? command.name : path + " " + command.name, paths);
  }
}

std::string words_of(const CommandShape& shape) {
  std::string words;
  for (const CommandShape& command : shape.commands) {
    words += command.name + " ";
  }
  for (const CommandShape::Option& option : shape.options) {
    words += option.name + " ";
  }
  if (!words.empty()) {
    words.pop_back();
  }
  return words;
}

// What completes an argument: run ids, files, or nothing.
std::string argument_kind(const CommandShape& shape) {
  const auto has = [&](std::string_view name) {
    return std::find(shape.arguments.begin(), shape.arguments.end(), name) != shape.arguments.end();
  };
  return has("RUN") ? "runs" : has("FILE") || has("WORKFLOW") || has("BEFORE") ? "files" : "none";
}

// What completes the value of an option: a status, files, or nothing.
std::string value_kinds(const std::vector<CommandPath>& paths) {
  std::string files;
  std::string free;
  for (const CommandPath& command : paths) {
    for (const CommandShape::Option& option : command.shape->options) {
      std::string& list = option.type == "FILE" ? files : free;
      const bool known = (" " + list).find(" " + option.name + "|") != std::string::npos ||
                         (" " + list).find("|" + option.name + "|") != std::string::npos;
      if (!option.type.empty() && option.name != "--status" && !known) {
        list += option.name + "|";
      }
    }
  }
  const auto trimmed = [](std::string list) {
    if (!list.empty()) {
      list.pop_back();
    }
    return list;
  };
  return fmt::format(
      "    --status) COMPREPLY=($(compgen -W 'new started running idle paused compensating "
      "completed failed cancelled continued' -- \"$word\")); return ;;\n"
      "    {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
      "    {}) return ;;\n",
      trimmed(files), trimmed(free));
}

// Zsh reserves the names `path` and `words`.
std::string bash_script() {
  const CommandShape program = program_shape();
  std::vector<CommandPath> paths;
  collect(program, "", paths);
  std::string cases;
  for (const CommandPath& command : paths) {
    cases += fmt::format("    '{}') choices='{}'; kind={} ;;\n", command.path,
                         words_of(*command.shape), argument_kind(*command.shape));
  }
  std::string families;
  for (const CommandPath& command : paths) {
    if (!command.path.empty() && !command.shape->commands.empty()) {
      families += (families.empty() ? "'" : "|'") + command.path + "'";
    }
  }
  return fmt::format(R"bash(# Completion of holdfast for bash; zsh takes it through bashcompinit.
_holdfast_runs() {{
  local arguments=() index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case ${{COMP_WORDS[index]}} in
      --store|--server|--token-file|--tls-ca)
        arguments+=("${{COMP_WORDS[index]}}" "${{COMP_WORDS[index + 1]}}") ;;
    esac
  done
  echo latest
  "${{COMP_WORDS[0]}}" list --json --limit 100 "${{arguments[@]}}" 2> /dev/null |
    grep -o '"run_id":"[^"]*"' | cut -d '"' -f 4
}}

_holdfast() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command='' choices='' kind=none
  COMPREPLY=()
  local depth
  for ((depth = 1; depth < COMP_CWORD; depth++)); do
    if ((depth > 1)); then
      case $command in
        {families}) ;;
        *) break ;;
      esac
      command+=' '
    fi
    command+=${{COMP_WORDS[depth]}}
  done
  case $previous in
{values}  esac
  case $command in
{cases}  esac
  if [[ $word != -* && $kind == runs ]]; then
    choices+=" $(_holdfast_runs)"
  fi
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
  if [[ $word != -* && ($kind == files || $kind == runs) ]]; then
    COMPREPLY+=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _holdfast holdfast
)bash",
                     fmt::arg("families", families), fmt::arg("values", value_kinds(paths)),
                     fmt::arg("cases", cases));
}

struct CompletionCommand {
  std::string shell = {};

  void declare(Arguments& arguments) {
    arguments.required("SHELL", shell, "bash or zsh");
    arguments.restrict_to("SHELL", {"bash", "zsh"});
  }

  Result<void> run(Context& context) const {
    if (shell == "bash") {
      context.out << bash_script();
      return {};
    }
    // As a file in fpath, the script is loaded by the first completion and must answer it too.
    context.out << "#compdef holdfast\nautoload -U +X bashcompinit && bashcompinit\n"
                << bash_script()
                << "if [[ ${funcstack[1]-} == _holdfast ]]; then\n"
                   "  _bash_complete -o filenames -F _holdfast\nfi\n";
    return {};
  }
};

}  // namespace

extern const Command kCompletionCommand =
    make_command<CompletionCommand>("completion", "Print a completion script for bash or zsh.",
                                    R"(Examples:
  source <(holdfast completion bash)            in ~/.bashrc
  source <(holdfast completion zsh)             in ~/.zshrc, after compinit)");

}  // namespace holdfast::cli

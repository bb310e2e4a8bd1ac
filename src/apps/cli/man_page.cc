#include "apps/cli/man_page.h"

#include <fmt/format.h>

#include <sstream>

namespace holdfast::cli {

namespace {

// Escapes what troff would interpret: \, -, and a . or ' at the beginning of a line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void write_lines(std::string& out, const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    out += (line.empty() ? std::string(".sp") : escaped(line)) + "\n";
  }
}

void write_options(std::string& out, const CommandShape& shape) {
  for (const CommandShape::Option& option : shape.options) {
    out += fmt::format(".TP\n.B {}\n", escaped(option.name));
    if (!option.type.empty()) {
      out.insert(out.size() - 1, fmt::format(" \\fI{}\\fR", escaped(option.type)));
    }
    write_lines(out, option.description);
  }
}

void write_command(std::string& out, const CommandShape& shape, const std::string& path) {
  std::string line = path;
  for (const std::string& argument : shape.arguments) {
    line += " " + argument;
  }
  out += fmt::format(".SS {}\n", escaped(line));
  write_lines(out, shape.description);
  write_options(out, shape);
  out += ".PP\n.nf\n";
  write_lines(out, shape.details);
  out += ".fi\n";
  for (const CommandShape& command : shape.commands) {
    write_command(out, command, path + " " + command.name);
  }
}

}  // namespace

std::string man_page(const CommandShape& program) {
  std::string out =
      fmt::format(".TH HOLDFAST 1 \"\" \"holdfast {}\" \"User Commands\"\n", HOLDFAST_VERSION);
  out +=
      ".nh\n.ad l\n.SH NAME\nholdfast \\- durable workflows: runs that survive crashes and "
      "restarts\n";
  out += ".SH SYNOPSIS\n.B holdfast\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\n";
  write_lines(out, program.description);
  out += ".PP\n.nf\n";
  write_lines(out, program.details);
  out += ".fi\n.SH OPTIONS\n";
  write_options(out, program);
  out += ".SH COMMANDS\n";
  for (const CommandShape& command : program.commands) {
    write_command(out, command, command.name);
  }
  return out;
}

}  // namespace holdfast::cli

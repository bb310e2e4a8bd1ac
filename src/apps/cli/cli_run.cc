#include "apps/cli/cli_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "apps/cli/cli_parse.h"
#include "apps/cli/fd_stream.h"
#include "base/text.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

// Messages of a database server may end with newlines.
std::string line_of(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.pop_back();
  }
  return text;
}

// A command may have exit codes of its own.
int exit_code_of(const Error& error) {
  const auto own = parse_decimal(error.field(kExitCodeField));
  return own.has_value() ? static_cast<int>(*own) : error_info(error.code()).exit_code;
}

int report(const Error& error, Form form, std::ostream& out) {
  if (form == Form::json) {
    out << R"({"error":)" << error.json() << "}\n";
  }
  warn(line_of(error.text()));
  return exit_code_of(error);
}

// A usage error is found before the options are parsed.
Form form_of(std::span<char*> arguments) {
  const bool json = std::any_of(arguments.begin(), arguments.end(), [](const char* argument) {
    return std::string_view(argument) == "--json";
  });
  return json ? Form::json : Form::text;
}

int run_parsed(const CommandLine& line, Clock& clock, Random& random, std::ostream& out) {
  if (!line.text.empty()) {
    out << line.text;
    return 0;
  }
  Context context{clock, random, out, line.form};
  const Result<void> done = line.run(context);
  if (done.ok()) {
    return context.exit_code;
  }
  return report(done.error(), context.json_printed ? Form::text : line.form, out);
}

}  // namespace

int run_cli(std::span<char*> arguments, Clock& clock, Random& random) {
  // A closed pipe then shows as a failed write, and the program exits in an orderly way.
  signal(SIGPIPE, SIG_IGN);
  FdStream out(STDOUT_FILENO);
  const auto line = parse_command_line(arguments);
  const int exit_code = line.ok() ? run_parsed(line.value(), clock, random, out)
                                  : report(line.error(), form_of(arguments), out);
  out.flush();
  if (exit_code == 0 && out.failure() != 0 && out.failure() != EPIPE) {
    const Error error{ErrorCode::io_error, fmt::format("cannot write to standard output: {}",
                                                       std::strerror(out.failure()))};
    return report(error, Form::text, out);
  }
  return exit_code;
}

}  // namespace holdfast::cli

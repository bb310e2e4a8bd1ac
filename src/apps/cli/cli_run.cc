#include "apps/cli/cli_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_parse.h"
#include "apps/cli/fd_stream.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

// Messages of other programs, a database server's for example, may have several lines.
std::string line_of(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.pop_back();
  }
  return text;
}

int report(const Error& error, OutputForm form, std::ostream& out) {
  if (form == OutputForm::json) {
    out << R"({"error":)" << error.json() << "}\n";
  }
  warn(line_of(error.text()));
  return error_info(error.code()).exit_code;
}

// Damage is what verify was asked about: its JSON is an answer like the one for a whole journal.
int report_damage(const Error& error, OutputForm form, std::ostream& out) {
  if (form == OutputForm::json) {
    out << R"({"ok":false,"error":)" << error.json() << "}\n";
  }
  return report(error, OutputForm::text, out);
}

// A usage error comes before the options are known.
OutputForm form_of(std::span<char*> arguments) {
  const bool json = std::any_of(arguments.begin(), arguments.end(), [](const char* argument) {
    return std::string_view(argument) == "--json";
  });
  return json ? OutputForm::json : OutputForm::text;
}

int run_parsed(const CommandLine& line, Clock& clock, Random& random, std::ostream& out) {
  Context context{clock, random, out, line.form};
  const Result<void> done =
      std::visit([&](const auto& options) { return run_command(options, context); }, line.command);
  if (done.ok()) {
    return context.exit_code;
  }
  if (std::holds_alternative<WorkflowCheckOptions>(line.command)) {
    return report(done.error(), OutputForm::text, out);  // the files were asked about, and answered
  }
  constexpr int kDamaged = 3;
  const bool damaged = error_info(done.error().code()).exit_code == kDamaged;
  return damaged && std::holds_alternative<VerifyOptions>(line.command)
             ? report_damage(done.error(), line.form, out)
             : report(done.error(), line.form, out);
}

}  // namespace

Result<void> run_command(const ShowText& options, Context& context) {
  context.out << options.text;
  return {};
}

int run_cli(std::span<char*> arguments, Clock& clock, Random& random) {
  // A reader that goes away is seen as a failed write, and the program ends in good order.
  signal(SIGPIPE, SIG_IGN);
  FdStream out(STDOUT_FILENO);
  const auto line = parse_command_line(arguments);
  const int exit_code = line.ok() ? run_parsed(line.value(), clock, random, out)
                                  : report(line.error(), form_of(arguments), out);
  out.flush();
  if (exit_code == 0 && out.failure() != 0 && out.failure() != EPIPE) {
    const Error error{ErrorCode::io_error, fmt::format("cannot write to standard output: {}",
                                                       std::strerror(out.failure()))};
    return report(error, OutputForm::text, out);
  }
  return exit_code;
}

}  // namespace holdfast

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "base/quote.h"
#include "base/read_file.h"
#include "runs/language/yaml/check_workflow.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

constexpr std::size_t kShownFingerprint = 12;

struct CheckedFile {
  std::string file;
  std::optional<Error> unreadable;
  CheckedWorkflow checked;

  [[nodiscard]] std::size_t fault_count() const {
    return unreadable.has_value() ? 1 : checked.faults.size();
  }
};

CheckedFile check_file(const std::string& file) {
  // One byte more than allowed is enough to report that the file is too large.
  const auto text = read_file(file, kMaxSourceBytes);
  return text.ok() ? CheckedFile{file, std::nullopt, check_workflow(text.value())}
                   : CheckedFile{file, text.error(), {}};
}

class CheckPrinter {
 public:
  explicit CheckPrinter(Context& context) : context_(context), colour_(supports_colour()) {}

  void print(const CheckedFile& of) const {
    if (of.unreadable.has_value()) {
      const std::string_view code = error_info(of.unreadable->code()).name;
      print_line(context_, line(of.file, of.unreadable->message(), code, kRed));
    }
    for (const LocatedFault& fault : of.checked.faults) {
      print_fault(of.file, fault, "", kRed);
    }
    for (const LocatedFault& warning : of.checked.warnings) {
      print_fault(of.file, warning, "warning: ", kYellow);
    }
    if (of.checked.definition != nullptr) {
      print_valid(of.file, *of.checked.definition);
    }
  }

 private:
  static constexpr std::string_view kRed = "\x1b[31m";
  static constexpr std::string_view kYellow = "\x1b[33m";

  [[nodiscard]] std::string line(std::string_view place, std::string_view message,
                                 std::string_view code, std::string_view colour) const {
    return colour_ ? fmt::format("\x1b[1m{}:\x1b[0m {} {}[{}]\x1b[0m", printable(place),
                                 printable(message), colour, code)
                   : fmt::format("{}: {} [{}]", printable(place), printable(message), code);
  }

  void print_fault(std::string_view file, const LocatedFault& located, std::string_view kind,
                   std::string_view colour) const {
    const auto& [fault, place] = located;
    const std::string path = path_text(fault.path);
    print_line(context_,
               line(fmt::format("{}:{}:{}", file, place.line, place.column),
                    fmt::format("{}{}{}{}", kind, path, path.empty() ? "" : ": ", fault.message),
                    fault.code, colour));
  }

  void print_valid(std::string_view file, const Definition& definition) const {
    const std::string_view version = definition.version().view();
    print_line(context_, fmt::format("{}: workflow {}{} is {}valid{} ({}, fingerprint {}...)",
                                     printable(file), definition.workflow().view(),
                                     version.empty() ? "" : " version " + printable(version),
                                     colour_ ? "\x1b[32m" : "", colour_ ? "\x1b[0m" : "",
                                     counted(definition.steps().size(), "step"),
                                     definition.fingerprint().view().substr(0, kShownFingerprint)));
  }

  Context& context_;
  bool colour_;
};

void write_file(JsonWriter& json, const CheckedFile& of) {
  json.begin_object().member("file", of.file).member("valid", of.fault_count() == 0);
  if (of.checked.definition != nullptr) {
    const Definition& definition = *of.checked.definition;
    json.member("workflow", definition.workflow().view());
    json.member("version", definition.version().view());
    json.member("fingerprint", definition.fingerprint().view());
    json.member("steps", std::uint64_t{definition.steps().size()});
  }
  json.end_object();
}

void write_unreadable(JsonWriter& json, const CheckedFile& of) {
  json.begin_object().member("file", of.file).key("path").begin_array().end_array();
  json.member("code", error_info(of.unreadable->code()).name);
  json.member("message", of.unreadable->message());
  json.key("line").null().key("column").null().end_object();
}

// One object for all files, so that a program reads one value.
void print_all_json(Context& context, const std::vector<CheckedFile>& files) {
  const bool valid = std::all_of(files.begin(), files.end(),
                                 [](const CheckedFile& of) { return of.fault_count() == 0; });
  JsonWriter json;
  json.begin_object().member("valid", valid).key("files").begin_array();
  for (const CheckedFile& of : files) {
    write_file(json, of);
  }
  json.end_array().key("errors").begin_array();
  for (const CheckedFile& of : files) {
    if (of.unreadable.has_value()) {
      write_unreadable(json, of);
    }
    for (const LocatedFault& fault : of.checked.faults) {
      write_fault(json, fault, of.file);
    }
  }
  json.end_array().key("warnings").begin_array();
  for (const CheckedFile& of : files) {
    for (const LocatedFault& warning : of.checked.warnings) {
      write_fault(json, warning, of.file);
    }
  }
  json.end_array().end_object();
  print_json(context, std::move(json));
}

struct WorkflowCheckCommand {
  std::vector<std::string> files = {};

  void declare(Arguments& arguments) {
    arguments.one_or_more("FILE", files, "workflow files; - reads standard input");
  }

  Result<void> run(Context& context) const {
    std::vector<CheckedFile> checked;
    std::size_t bad_files = 0;
    std::size_t faults = 0;
    for (const std::string& file : files) {
      const CheckedFile& of = checked.emplace_back(check_file(file));
      bad_files += of.fault_count() > 0 ? std::size_t{1} : std::size_t{0};
      faults += of.fault_count();
      if (!context.json()) {
        CheckPrinter(context).print(of);
      }
    }
    if (context.json()) {
      print_all_json(context, checked);
      context.json_printed = true;
    }
    if (bad_files > 0) {
      // The summary goes to standard error and must not precede the faults.
      context.out.flush();
      return Error{ErrorCode::invalid_definition,
                   fmt::format("found {} in {} of {}", counted(faults, "fault"), bad_files,
                               counted(checked.size(), "file"))};
    }
    if (checked.size() > 1 && !context.json()) {
      print_line(context, fmt::format("all {} files are valid", checked.size()));
    }
    return {};
  }
};

}  // namespace

extern const Command kWorkflowCheckCommand = make_command<WorkflowCheckCommand>(
    "workflow check", "Check workflow files and report every fault with its line.",
    R"(A workflow file is YAML or JSON, for example:
  workflow: orders
  version: "1"
  steps:
    - name: charge
      retry: {max_attempts: 5, delay: 2s, backoff: exponential}
    - name: ship
      after: charge

Prints one line per fault: FILE:LINE:COLUMN: PATH: MESSAGE [CODE]. Warnings have "warning:"
before the path and do not change the exit code. Nothing is changed or executed. --json prints
one object with valid, files, errors and warnings.

Examples:
  holdfast workflow check orders.yaml
  holdfast workflow check flows/*.yaml
  holdfast workflow check --json orders.yaml | jq .errors
  generate_workflow | holdfast workflow check -

Exit codes: 0 all files are valid; 2 a file has faults or cannot be read.)");

}  // namespace holdfast::cli

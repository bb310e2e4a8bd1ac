#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/workflow_schema.h"
#include "yaml/check_workflow.h"

namespace holdfast {

namespace {

constexpr std::size_t kShownFingerprint = 12;

// Names of files and fields may hold anything; a line stays a line, and a terminal as it is.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20U || byte == 0x7fU ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out;
}

class CheckPrinter {
 public:
  explicit CheckPrinter(Context& context)
      : context_(context), colour_(!context.json() && wants_colour()) {}

  void unreadable(const std::string& file, const Error& error) {
    const std::string_view code = error_info(error.code()).name;
    if (context_.json()) {
      JsonWriter writer = begin(file, false);
      writer.key("errors").begin_array().begin_object();
      writer.key("path").begin_array().end_array();
      writer.member("code", code).member("message", error.message());
      writer.key("line").null().key("column").null();
      writer.end_object().end_array().end_object();
      print_json(context_, std::move(writer));
    } else {
      print_fault(file, error.message(), code);
    }
  }

  void faults(const std::string& file, const std::vector<LocatedFault>& faults) {
    if (context_.json()) {
      JsonWriter writer = begin(file, false);
      writer.key("errors").begin_array();
      for (const LocatedFault& fault : faults) {
        write_fault(writer, fault);
      }
      writer.end_array().end_object();
      print_json(context_, std::move(writer));
      return;
    }
    for (const auto& [fault, place] : faults) {
      const std::string path = path_text(fault.path);
      print_fault(fmt::format("{}:{}:{}", file, place.line, place.column),
                  path.empty() ? fault.message : fmt::format("{}: {}", path, fault.message),
                  fault.code);
    }
  }

  void valid(const std::string& file, const Definition& definition) {
    const std::string_view version = definition.version().view();
    const std::string_view fingerprint = definition.fingerprint().view();
    if (context_.json()) {
      JsonWriter writer = begin(file, true);
      writer.member("workflow", definition.workflow().view()).member("version", version);
      writer.member("fingerprint", fingerprint);
      writer.member("steps", std::uint64_t{definition.steps().size()});
      writer.key("errors").begin_array().end_array().end_object();
      print_json(context_, std::move(writer));
      return;
    }
    print_line(context_,
               fmt::format("{}: workflow {}{} is {}valid{} ({} step{}, fingerprint {}...)",
                           printable(file), definition.workflow().view(),
                           version.empty() ? "" : " version " + printable(version),
                           colour_ ? "\x1b[32m" : "", colour_ ? "\x1b[0m" : "",
                           definition.steps().size(), definition.steps().size() == 1 ? "" : "s",
                           fingerprint.substr(0, kShownFingerprint)));
  }

 private:
  static JsonWriter begin(const std::string& file, bool valid) {
    JsonWriter writer;
    writer.begin_object().member("file", file).member("valid", valid);
    return writer;
  }

  void print_fault(std::string_view place, std::string_view message, std::string_view code) {
    constexpr const char* kPlain = "{}: {} [{}]";
    constexpr const char* kColour = "\x1b[1m{}:\x1b[0m {} \x1b[31m[{}]\x1b[0m";
    print_line(context_, fmt::format(fmt::runtime(colour_ ? kColour : kPlain), printable(place),
                                     printable(message), code));
  }

  Context& context_;
  bool colour_;
};

// How many faults the file has.
std::size_t check_file(const std::string& file, CheckPrinter& printer) {
  // No more than shows that there is too much.
  const auto text = read_bytes(file, kMaxSourceBytes);
  if (!text.ok()) {
    printer.unreadable(file, text.error());
    return 1;
  }
  const CheckedWorkflow checked = check_workflow(text.value());
  if (checked.definition == nullptr) {
    printer.faults(file, checked.faults);
  } else {
    printer.valid(file, *checked.definition);
  }
  return checked.faults.size();
}

}  // namespace

Result<void> run_command(const WorkflowCheckOptions& options, Context& context) {
  CheckPrinter printer(context);
  std::size_t bad_files = 0;
  std::size_t faults = 0;
  for (const std::string& file : options.files) {
    const std::size_t found = check_file(file, printer);
    bad_files += found > 0 ? 1 : 0;
    faults += found;
  }
  const std::size_t files = options.files.size();
  if (bad_files > 0) {
    // Everything is said; the summary must not come before it where both go to one terminal.
    context.out.flush();
    return Error{ErrorCode::invalid_definition,
                 fmt::format("{} of {} file{} cannot be used: {} fault{}", bad_files, files,
                             files == 1 ? "" : "s", faults, faults == 1 ? "" : "s")};
  }
  if (files > 1 && !context.json()) {
    print_line(context, fmt::format("all {} files are valid", files));
  }
  return {};
}

Result<void> run_command(const WorkflowSchemaOptions&, Context& context) {
  if (!context.json()) {
    context.out << kWorkflowSchema;
    return {};
  }
  HOLDFAST_TRY(const JsonText schema, JsonText::parse(kWorkflowSchema));
  print_line(context, schema.view());
  return {};
}

}  // namespace holdfast

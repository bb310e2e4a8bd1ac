#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "apps/cli/backend_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/new_file.h"
#include "base/json_value.h"
#include "base/text.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

struct BackupReport {
  std::uint64_t entries = 0;
  std::uint64_t head = 0;
  std::string chain;
};

Error incomplete(std::string_view why) {
  return Error{ErrorCode::invalid_export,
               fmt::format("the backup is incomplete ({}); no file was written, try again", why)};
}

std::uint64_t position_of(std::string_view line) {
  constexpr std::string_view kBegin = "{\"position\":";
  const std::size_t comma = line.find(',');
  return line.starts_with(kBegin) && comma != std::string_view::npos
             ? parse_decimal(line.substr(kBegin.size(), comma - kBegin.size())).value_or(0)
             : 0;
}

// The last line: {"end":{"position":N,"chain":"…"}}
Result<BackupReport> read_end(const std::string& line, BackupReport report) {
  const auto json = Json::parse(line);
  const auto end = json.ok() ? json.value().find("end") : std::nullopt;
  const auto position = end.has_value() ? end->find("position") : std::nullopt;
  const auto chain = end.has_value() ? end->find("chain") : std::nullopt;
  if (!position.has_value() || !chain.has_value()) {
    return incomplete("the last line is not the end of an export");
  }
  if (position->unsigned_integer() != report.head) {
    return incomplete("entries before the end are missing");
  }
  report.chain = chain->string().value_or("");
  return report;
}

// Reads the file again: a header, every position, an end line that matches.
Result<BackupReport> read_back(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("{\"holdfast_export\":")) {
    return incomplete("the first line is not the header of an export");
  }
  BackupReport report;
  while (std::getline(file, line)) {
    const std::uint64_t position = position_of(line);
    if (position == 0) {
      const bool last = file.peek() == std::ifstream::traits_type::eof();
      return last ? read_end(line, report)
                  : Result<BackupReport>(incomplete("a line is not an entry"));
    }
    if (position != report.head && position != report.head + 1) {
      return incomplete(fmt::format("position {} follows {}", position, report.head));
    }
    report.head = position;
    ++report.entries;
  }
  return incomplete("the end line is missing");
}

Result<BackupReport> back_up(Backend& backend, const std::string& path) {
  HOLDFAST_TRY(const auto file, NewFile::create(path));
  HOLDFAST_CHECK(file->write([&](std::ostream& stream) {
    ProgressBar bar("backing up", backend.backup_unit());
    return backend.backup(stream, bar.progress());
  }));
  HOLDFAST_TRY(BackupReport report, read_back(file->temporary()));
  HOLDFAST_CHECK(file->finish());
  return report;
}

struct BackupCommand {
  BackendOptions backend = {};
  std::string out = "-";  // standard output
  bool force = false;

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.option("--out", "FILE", out, "File to write (default: -, standard output)");
    arguments.flag("--force", force, "Replace FILE if it exists");
  }

  Result<void> run(Context& context) const {
    if (out == "-" && is_terminal(STDOUT_FILENO)) {
      return Error{ErrorCode::invalid_argument,
                   "a backup is not written to a terminal; name a file with --out FILE"}
          .with("field", "out");
    }
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    if (out == "-") {
      ProgressBar bar("backing up", opened->backup_unit());
      return opened->backup(context.out, bar.progress());
    }
    HOLDFAST_CHECK(check_new_file(out, force));
    HOLDFAST_TRY(const BackupReport report, back_up(*opened, out));
    print_result(context,
                 fmt::format("{} written to {}, up to position {}, and verified",
                             counted(report.entries, "entry", "entries"), harmless(out),
                             with_thousands(report.head)),
                 [&](JsonWriter& json) {
                   json.member("file", out)
                       .member("entries", report.entries)
                       .member("head", report.head)
                       .member("chain", report.chain);
                 });
    return {};
  }
};

}  // namespace

extern const Command kBackupCommand = make_command<BackupCommand>(
    "backup", "Write the whole store to a file, consistent as of one moment.",
    R"(Servers and workers may continue meanwhile. The file appears under its name only when it
is complete, on disk and verified. It contains inputs and results unencrypted: protect it like
the store. `holdfast restore` creates a store from it.

Examples:
  holdfast backup --out monday.jsonl
  holdfast backup --server https://work.example --token-file admin.token --out monday.jsonl
  holdfast backup | zstd > monday.jsonl.zst)");

}  // namespace holdfast::cli

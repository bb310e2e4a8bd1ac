// Backups: the whole journal of a store or a server in a file, and back.
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/fd_stream.h"
#include "apps/cli/import_file.h"
#include "apps/cli/new_file.h"
#include "base/json_slice.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_verify.h"

namespace holdfast {

namespace {

struct BackupReport {
  std::uint64_t entries = 0;
  std::uint64_t head = 0;
  std::string chain;
};

Error incomplete(std::string_view why) {
  return Error{ErrorCode::invalid_export,
               fmt::format("the backup is not complete ({}); nothing was kept, try again", why)};
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
    return incomplete("its last line is not the end of an export");
  }
  if (position->unsigned_integer() != report.head) {
    return incomplete("entries before its end are missing");
  }
  report.chain = chain->string().value_or("");
  return report;
}

// Reads back what was written: a header, every position, an end that fits.
Result<BackupReport> read_back(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("{\"holdfast_export\":")) {
    return incomplete("it does not begin as an export");
  }
  BackupReport report;
  while (std::getline(file, line)) {
    const std::uint64_t position = position_of(line);
    if (position == 0) {
      const bool last = file.peek() == std::ifstream::traits_type::eof();
      return last ? read_end(line, report) : Result<BackupReport>(incomplete("a line is no entry"));
    }
    if (position != report.head && position != report.head + 1) {
      return incomplete(fmt::format("position {} follows {}", position, report.head));
    }
    report.head = position;
    ++report.entries;
  }
  return incomplete("it has no end line");
}

Result<BackupReport> back_up(Backend& backend, const std::string& path) {
  HOLDFAST_TRY(const auto file, NewFile::create(path));
  {
    ProgressBar bar("backing up", backend.backup_unit());
    FdStream stream(file->descriptor());
    const auto done = backend.backup(stream, bar.progress());
    stream.flush();
    if (stream.failure() != 0) {
      return file->error(stream.failure());
    }
    HOLDFAST_CHECK(done);
  }
  HOLDFAST_CHECK(file->sync());
  HOLDFAST_TRY(BackupReport report, read_back(file->temporary()));
  HOLDFAST_CHECK(file->finish());
  return report;
}

void print_backup(const BackupReport& report, const std::string& file, Context& context) {
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("file", file).member("entries", report.entries);
    json.member("head", report.head).member("chain", report.chain).end_object();
    print_json(context, std::move(json));
    return;
  }
  print_line(context, fmt::format("{} in {}, up to position {}, read back and complete",
                                  counted(report.entries, "entry is", "entries are"),
                                  harmless(file), with_thousands(report.head)));
}

Result<VerifyReport> prove(const std::string& store, Context& context) {
  HOLDFAST_TRY(const auto log, open_log_to_read(store, context));
  ProgressBar bar("verifying", "batches");
  return verify_journal(*log, bar.progress());
}

}  // namespace

Result<void> run_command(const BackupOptions& options, Context& context) {
  if (options.out == "-" && is_terminal(STDOUT_FILENO)) {
    return Error{ErrorCode::invalid_argument,
                 "a backup is nothing to read at a terminal; name a file with --out FILE"}
        .with("field", "out");
  }
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  if (options.out == "-") {
    ProgressBar bar("backing up", backend->backup_unit());
    return backend->backup(context.out, bar.progress());
  }
  HOLDFAST_CHECK(check_new_file(options.out, options.force));
  HOLDFAST_TRY(const BackupReport report, back_up(*backend, options.out));
  print_backup(report, options.out, context);
  return {};
}

Result<void> run_command(const RestoreOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  auto imported = import_from(options.file, store.url);
  if (!imported.ok()) {
    return imported.error().code() == ErrorCode::already_exists
               ? advised(imported.error(), "name a new one with --store")
               : imported.error();
  }
  HOLDFAST_TRY(const VerifyReport proved, prove(store.url, context));
  const std::string shown = shown_url(store.url);
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("store", shown).member("entries", proved.entries);
    json.member("head", proved.head.value).member("chain", to_hex(proved.chain)).end_object();
    print_json(context, std::move(json));
    return {};
  }
  print_line(context, fmt::format("{} is restored and whole: {} up to position {}", shown,
                                  counted(proved.entries, "entry", "entries"),
                                  with_thousands(proved.head.value)));
  return {};
}

}  // namespace holdfast

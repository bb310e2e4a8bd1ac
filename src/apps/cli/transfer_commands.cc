// Commands that bring a whole journal into a store: import and copy.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/import_file.h"
#include "base/hash.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_transfer.h"
#include "storage/journal/open_journal.h"
#include "storage/log/store_url.h"

namespace holdfast {

namespace {

Error cannot_import(const std::string& path, int number) {
  const ErrorCode code = number == EACCES ? ErrorCode::permission_denied : ErrorCode::not_found;
  return Error{code, fmt::format("{}: {}", path, std::strerror(number))};
}

Result<void> check_readable(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || access(path.c_str(), R_OK) != 0) {
    return cannot_import(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} is not a regular file; - reads standard input", path)};
  }
  return {};
}

// Standard input cannot be read twice, as an import must: it goes to a file without a name.
Result<std::fstream> spool_standard_input() {
  std::string path = std::filesystem::temp_directory_path() / "holdfast_import_XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) {
    return cannot_import(path, errno);
  }
  close(descriptor);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary | std::ios::trunc);
  unlink(path.c_str());
  if (std::cin.peek() != std::char_traits<char>::eof()) {
    file << std::cin.rdbuf();
  }
  file.flush();
  if (!file) {
    return Error{ErrorCode::disk_full,
                 fmt::format("cannot keep standard input in {}",
                             std::filesystem::temp_directory_path().string())};
  }
  return file;
}

Result<TransferReport> import_with_bar(std::istream& file, const std::string& store) {
  ProgressBar bar("importing", "batches");
  return import_journal(file, store, bar.progress());
}

struct Transferred {
  std::string_view verb;
  std::string store;
};

void print_report(const Transferred& outcome, const TransferReport& report, Context& context) {
  if (context.json()) {
    JsonWriter writer;
    writer.begin_object();
    writer.member("store", outcome.store);
    writer.member("batches", report.batches);
    writer.member("side_values", report.side_values);
    writer.member("head", report.head.value);
    writer.member("chain", to_hex(report.chain));
    writer.end_object();
    print_json(context, std::move(writer));
    return;
  }
  print_line(context, fmt::format("{} {}; {} is at position {}", outcome.verb,
                                  counted(report.batches, "batch", "batches"), outcome.store,
                                  with_thousands(report.head.value)));
  print_line(context, fmt::format("chain {}", to_hex(report.chain)));
}

bool same_store(std::string_view from, std::string_view to) {
  if (from == to) {
    return true;
  }
  const auto left = parse_store_url(from);
  const auto right = parse_store_url(to);
  const auto* const left_file = left.ok() ? std::get_if<SqliteUrl>(&left.value()) : nullptr;
  const auto* const right_file = right.ok() ? std::get_if<SqliteUrl>(&right.value()) : nullptr;
  std::error_code ignored;
  return left_file != nullptr && right_file != nullptr &&
         std::filesystem::equivalent(left_file->path, right_file->path, ignored);
}

}  // namespace

Result<TransferReport> import_from(const std::string& path, const std::string& store) {
  // A wrong URL is told before standard input is waited for.
  HOLDFAST_CHECK(parse_store_url(store));
  if (path == "-") {
    HOLDFAST_TRY(auto file, spool_standard_input());
    return import_with_bar(file, store);
  }
  HOLDFAST_CHECK(check_readable(path));
  std::ifstream file(path, std::ios::binary);
  auto report = import_with_bar(file, store);
  return !report.ok() && report.error().code() == ErrorCode::invalid_export
             ? std::move(report).error().in(path)
             : std::move(report);
}

Result<void> run_command(const ImportOptions& options, Context& context) {
  HOLDFAST_TRY(const TransferReport report, import_from(options.file, options.store));
  print_report({"imported", shown_url(options.store)}, report, context);
  return {};
}

Result<void> run_command(const CopyOptions& options, Context& context) {
  HOLDFAST_CHECK(parse_store_url(options.to));
  // A target is marked as unfinished while it is written; a journal must not do that to itself.
  if (same_store(options.from, options.to)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} cannot be copied to itself", shown_url(options.from))};
  }
  HOLDFAST_TRY(const auto from,
               open_log(options.from, OpenMode::read, context.clock, context.random));
  auto report = [&] {
    ProgressBar bar("copying", "batches");
    return copy_journal(*from, options.to, bar.progress());
  }();
  if (!report.ok()) {
    return std::move(report).error();
  }
  print_report({"copied", shown_url(options.to)}, report.value(), context);
  return {};
}

}  // namespace holdfast

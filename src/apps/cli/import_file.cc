#include "apps/cli/import_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "apps/cli/cli_terminal.h"
#include "base/hash.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/log/store_url.h"

namespace holdfast::cli {

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

// An import reads its file twice, so standard input is copied to an unlinked temporary file.
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
                 fmt::format("cannot write standard input to {}",
                             std::filesystem::temp_directory_path().string())};
  }
  return file;
}

Result<TransferReport> import_with_bar(std::istream& file, const std::string& store) {
  ProgressBar bar("importing", "batches");
  return import_journal(file, store, bar.progress());
}

}  // namespace

Result<TransferReport> import_from(const std::string& path, const std::string& store) {
  // An invalid URL is reported before standard input is read.
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

void print_transfer(std::string_view verb, const std::string& store, const TransferReport& report,
                    Context& context) {
  const std::string shown = shown_url(store);
  print_result(context,
               fmt::format("{} {}; {} is at position {}\nchain {}", verb,
                           counted(report.batches, "batch", "batches"), shown,
                           with_thousands(report.head.value), to_hex(report.chain)),
               [&](JsonWriter& json) {
                 json.member("store", shown)
                     .member("batches", report.batches)
                     .member("side_values", report.side_values)
                     .member("head", report.head.value)
                     .member("chain", to_hex(report.chain));
               });
}

}  // namespace holdfast::cli

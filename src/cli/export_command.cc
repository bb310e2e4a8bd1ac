#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/hash.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fd_stream.h"
#include "cli/terminal.h"
#include "journal/transfer.h"

namespace holdfast {

namespace {

Error file_error(const std::string& path, int number) {
  const std::string text = fmt::format("{}: {}", path, std::strerror(number));
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return Error{ErrorCode::not_found, text};
    case EACCES:
    case EPERM:
    case EROFS:
      return Error{ErrorCode::permission_denied, text};
    case ENOSPC:
    case EDQUOT:
      return Error{ErrorCode::disk_full, text};
    default:
      return Error{ErrorCode::io_error, text};
  }
}

// A file that appears under its name only when it is complete and on disk.
class NewFile {
 public:
  static Result<std::unique_ptr<NewFile>> create(const std::string& path) {
    std::unique_ptr<NewFile> file(new NewFile(path));
    file->fd_ = mkostemp(file->temporary_.data(), O_CLOEXEC);
    if (file->fd_ < 0) {
      return file_error(path, errno);
    }
    // mkostemp is strict; the export gets the rights of any new file.
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(file->fd_, 0666U & ~mask);
    return file;
  }

  ~NewFile() {
    if (fd_ >= 0) {
      close(fd_);
      unlink(temporary_.c_str());
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] Error error(int number) const { return file_error(path_, number); }

  Result<void> finish() {
    if (fsync(fd_) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      return error(errno);
    }
    close(std::exchange(fd_, -1));
    return sync_directory();
  }

 private:
  explicit NewFile(const std::string& path)
      : path_(path), temporary_(fmt::format("{}.XXXXXX", path)) {}

  [[nodiscard]] Result<void> sync_directory() const {
    const auto parent = std::filesystem::path(path_).parent_path();
    const int directory = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY);
    if (directory < 0) {
      return error(errno);
    }
    const bool synced = fsync(directory) == 0;
    const int number = errno;
    close(directory);
    return synced ? Result<void>() : Result<void>(error(number));
  }

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

Result<void> check_target(const ExportOptions& options) {
  struct stat status {};
  if (stat(options.file.c_str(), &status) != 0) {
    return {};  // what is wrong, if anything, shows when it is made
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{
        ErrorCode::already_exists,
        fmt::format("{} is not a regular file; for standard output leave FILE out", options.file)};
  }
  if (!options.force) {
    return Error{ErrorCode::already_exists,
                 fmt::format("{} exists already; --force replaces it", options.file)};
  }
  return {};
}

Result<TransferReport> export_with_bar(Log& log, std::ostream& out) {
  ProgressBar bar("exporting", "batches");
  return export_journal(log, out, bar.progress());
}

Result<TransferReport> export_to_file(Log& log, const std::string& path) {
  HOLDFAST_TRY(const auto file, NewFile::create(path));
  FdStream stream(file->descriptor());
  auto report = export_with_bar(log, stream);
  if (stream.failure() != 0) {
    return file->error(stream.failure());
  }
  if (report.ok()) {
    HOLDFAST_CHECK(file->finish());
  }
  return report;
}

void print_report(const TransferReport& report, const std::string& file, Context& context) {
  if (context.json()) {
    JsonWriter writer;
    writer.begin_object();
    writer.member("file", file);
    writer.member("entries", report.entries);
    writer.member("batches", report.batches);
    writer.member("head", report.head.value);
    writer.member("chain", to_hex(report.chain));
    writer.end_object();
    print_json(context, std::move(writer));
    return;
  }
  print_line(context,
             fmt::format("exported {} entries in {} batches to {}", with_thousands(report.entries),
                         with_thousands(report.batches), file));
}

}  // namespace

Result<void> run_command(const ExportOptions& options, Context& context) {
  if (options.file == "-") {
    HOLDFAST_TRY(const auto log, open_log_to_read(options.store, context));
    HOLDFAST_CHECK(export_with_bar(*log, context.out));
    return {};
  }
  HOLDFAST_CHECK(check_target(options));
  HOLDFAST_TRY(const auto log, open_log_to_read(options.store, context));
  HOLDFAST_TRY(const TransferReport report, export_to_file(*log, options.file));
  print_report(report, options.file, context);
  return {};
}

}  // namespace holdfast

// A log in one plain file, as an example of a log that a program supplies itself.
//
// The file is a sequence of changes: appended records, trims and changes of the side store. Each
// change has a length and a checksum, so that a half-written change at the end of the file is
// recognised and removed by the next writer. Writers lock the file, read what other processes have
// added, check the condition, write, call fdatasync and unlock. Readers take a shared lock, so
// that they see nothing that is not durable. Space is not reclaimed.
#pragma once

#include <holdfast/log.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

class FileLog final : public holdfast::LogStore {
 public:
  // Creates the file if it does not exist.
  static holdfast::Result<std::unique_ptr<holdfast::LogStore>> open(const std::string& path);
  ~FileLog() override;

  holdfast::Result<holdfast::LogState> state() override;
  holdfast::Result<void> append(std::uint64_t position, std::string_view bytes) override;
  holdfast::Result<std::vector<holdfast::LogRecord>> read(
      std::uint64_t from, const holdfast::LogReadLimit& limit) override;
  holdfast::Result<void> update(const holdfast::LogUpdate& update) override;
  holdfast::Result<std::vector<std::optional<std::string>>> get(
      std::span<const std::string> keys) override;
  holdfast::Result<std::vector<holdfast::LogPair>> scan(const holdfast::LogScan& scan) override;
  holdfast::Result<void> wait_for_change(std::uint64_t known_head,
                                         std::chrono::milliseconds timeout) override;
  void interrupt_waits() override;
  holdfast::Result<std::uint64_t> size_bytes() override;
  [[nodiscard]] std::string name() const override { return "file:" + path_; }

 private:
  // Where the bytes of a record are in the file.
  struct Location {
    std::uint64_t offset;
    std::size_t size;
  };

  FileLog(std::string path, int file) : path_(std::move(path)), file_(file) {}

  // The members below are called with mutex_ and a lock on the file held.
  holdfast::Result<void> catch_up();
  holdfast::Result<void> create_log();
  holdfast::Result<void> write_change(const std::string& payload);
  void apply(std::string_view payload, std::uint64_t offset);
  [[nodiscard]] holdfast::Error failed(const std::string& what) const;

  std::string path_;
  int file_;
  int wake_[2] = {-1, -1};  // a pipe; readable once interrupt_waits() was called

  std::mutex mutex_;       // guards what follows
  std::uint64_t end_ = 0;  // of the changes that have been read
  holdfast::LogState state_;
  std::map<std::uint64_t, Location> records_;
  std::map<std::string, std::string> side_;
};

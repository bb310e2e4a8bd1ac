// Runs the contract of holdfast/log.h against FileLog.
#include "file_log.h"

#include <holdfast/log_contract.h>

#include <cstdlib>
#include <filesystem>

namespace {

class FileLogUnderTest final : public holdfast::LogUnderTest {
 public:
  FileLogUnderTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "file_log_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FileLogUnderTest() override { std::filesystem::remove_all(folder_); }

  holdfast::Result<std::unique_ptr<holdfast::LogStore>> open() override {
    return FileLog::open(folder_ + "/log");
  }

 private:
  std::string folder_;
};

[[maybe_unused]] const bool kAdded = holdfast::add_log_contract(
    "FileLog", holdfast::LogLifetime::durable, [] { return std::make_unique<FileLogUnderTest>(); });

}  // namespace

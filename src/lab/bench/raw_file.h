// RawFile: the limit for appends: one write and one fdatasync per commit at the end of a plain
// file. Also the state of the page cache, for measuring cold reads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

class RawFile {
 public:
  // A new unnamed file in the directory; it disappears with this object.
  static Result<std::unique_ptr<RawFile>> create(const std::string& directory);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  Result<void> append_and_sync(std::string_view bytes);

 private:
  explicit RawFile(int descriptor) : fd_(descriptor) {}

  int fd_;
};

// Advises the system to drop its cached pages of a file. True if it did: less than one percent of
// the file is in memory afterwards.
bool drop_page_cache(const std::string& path);

}  // namespace holdfast

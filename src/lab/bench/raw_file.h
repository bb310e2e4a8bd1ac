// RawFile: the limit that appends are measured against, one write and one fdatasync per commit
// at the end of a plain file; and the state of the page cache, for measuring cold reads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

class RawFile {
 public:
  // A new file in the directory; it has no name there and goes with this object.
  static Result<std::unique_ptr<RawFile>> create(const std::string& directory);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  Result<void> append_and_sync(std::string_view bytes);

 private:
  explicit RawFile(int descriptor) : fd_(descriptor) {}

  int fd_;
};

// Asks the system to forget what it has cached of a file. True when it did: less than a
// hundredth of the file is in memory afterwards.
bool drop_page_cache(const std::string& path);

}  // namespace holdfast

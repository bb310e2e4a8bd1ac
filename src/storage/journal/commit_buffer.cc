#include "storage/journal/commit_buffer.h"

#include <fmt/format.h>

namespace holdfast {

void CommitBuffer::truncate(const Mark& mark) {
  parts_.resize(mark.parts);
  if (!parts_.empty()) {
    parts_.back().count = mark.last_count;
  }
  tail_ends_.resize(mark.entries);
  tails_.resize(mark.bytes);
}

Error CommitBuffer::too_large(std::string_view kind, std::size_t bytes) {
  return Error{ErrorCode::too_large, fmt::format("the data of a {} has {} bytes, the limit is {}",
                                                 kind, bytes, kMaxDataBytes)};
}

}  // namespace holdfast

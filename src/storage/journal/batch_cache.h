// BatchCache: batches that were read, with their entries indexed by thread. For loading many
// threads whose entries share batches; one caller at a time.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/entry/entry.h"
#include "storage/log/log.h"

namespace holdfast {

class BatchCache {
 public:
  // Keeps about this many bytes of bodies, and at least one batch.
  explicit BatchCache(std::size_t max_bytes = 32U << 20U) : max_bytes_(max_bytes) {}

  // The entries of a thread in one batch, in order. not_found if the batch was trimmed.
  Result<std::vector<Entry>> entries(Log& log, Position position, std::string_view thread);

 private:
  struct Indexed {
    std::shared_ptr<const std::string> body;
    std::unordered_map<std::string_view, std::vector<Entry>> by_thread;
  };
  static Result<Indexed> read(Log& log, Position position);

  std::unordered_map<std::uint64_t, Indexed> batches_;
  std::list<std::uint64_t> order_;  // oldest first
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
};

}  // namespace holdfast

// MappedLimiter: a RateLimiter of one broker process. Its counters and markers are in a file that
// is mapped into memory, so they survive the death of the process (not of the machine): a restart
// inside a window does not reopen it.
//
// The file is a table of fixed size. An entry is found in one of kProbes slots behind its hash;
// entries of past windows are free. A marker that finds no free slot replaces another marker, which
// costs that message a unit on its next retry; a counter is never replaced.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "delivery/broker/rate_limiter.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

class MappedLimiter final : public RateLimiter {
 public:
  static constexpr std::size_t kDefaultSlots = 65'536;

  // Creates the file when it does not exist. A file of another size or version starts empty.
  static Result<std::unique_ptr<MappedLimiter>> open(const std::string& path,
                                                     std::size_t slots = kDefaultSlots);
  ~MappedLimiter() override;
  MappedLimiter(const MappedLimiter&) = delete;
  MappedLimiter& operator=(const MappedLimiter&) = delete;

  BudgetAnswer consume(const LimitedWorkspace& workspace, const Digest& marker,
                       TimeMs now) override;
  void note_refused(const LimitedWorkspace& workspace, const Digest& marker, TimeMs now) override;

 private:
  struct Slot;
  struct Header;

  MappedLimiter(void* memory, std::size_t bytes, std::size_t slots);
  // The live slot of a key; null when there is none.
  Slot* find(const Digest& key, std::uint64_t window);
  // A slot for a new key; null when all that are possible hold counters.
  Slot* place(const Digest& key, std::uint64_t window);

  void* memory_;
  std::size_t bytes_;
  std::size_t slots_;
  std::mutex mutex_;
};

}  // namespace holdfast::delivery

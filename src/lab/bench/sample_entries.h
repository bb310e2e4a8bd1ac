// SampleEntries: realistic entries (run ids, step names, small results), about 250 bytes each in a
// batch body, all different. The same seed gives the same entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "storage/journal/journal.h"

namespace holdfast {

class SampleEntries {
 public:
  SampleEntries(std::uint64_t seed, TimeMs start, std::size_t thread_count);

  [[nodiscard]] const std::vector<ThreadId>& threads() const { return threads_; }
  NewEntry entry();
  // A commit of that many entries, four per thread as in one step of a run, using the threads in
  // turn.
  Commit commit(std::size_t entries);

 private:
  SeededRandom random_;
  TimeMs now_;
  std::vector<ThreadId> threads_;
  std::size_t next_thread_ = 0;
  std::uint64_t made_ = 0;
};

// The batch body of a commit, with 0 as the number of each entry.
std::string sample_body(const Commit& commit);

}  // namespace holdfast

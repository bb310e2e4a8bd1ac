// Cores driven step by step on one in-memory disk, with a manual clock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/engine_support.h"

namespace holdfast {

class CoreTest : public testing::Test {
 protected:
  TestCore& open(const CoreOptions& options = {}) {
    cores_.push_back(std::make_unique<TestCore>(disk_, clock_, options));
    cores_.back()->set_name("core" + std::to_string(cores_.size()));
    return *cores_.back();
  }
  std::size_t batches() {
    return bodies_from(open_memory_journal(disk_)->log(), Position{1}).size();
  }
  // The state of a core that starts without a checkpoint.
  std::string folded_anew() {
    auto journal = open_memory_journal(disk_);
    must(journal->delete_checkpoint(thread("engine:live")));
    return open().core.state().encode();
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  ManualClock clock_{kStart};
  std::shared_ptr<const Definition> one_ = definition_of(kOneStep);
  std::shared_ptr<const Definition> two_ = definition_of(kTwoSteps, "pair");
  std::vector<std::unique_ptr<TestCore>> cores_;
};

}  // namespace holdfast

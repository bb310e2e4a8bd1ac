// Cores on a disk on which other processes left unfinished work.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/engine_support.h"
#include "tests/support/journal_audit.h"

namespace holdfast {

inline std::shared_ptr<MemoryDisk> copy_of(const MemoryDisk& disk) {
  auto copy = std::make_shared<MemoryDisk>();
  copy->format = disk.format;
  copy->state = disk.state;
  copy->rows = disk.rows;
  copy->side = disk.side;
  return copy;
}

// The disk as it was after the first batches.
inline std::shared_ptr<MemoryDisk> prefix_of(const MemoryDisk& disk, Position head) {
  auto copy = copy_of(disk);
  copy->side.clear();
  copy->rows.erase(copy->rows.upper_bound(head), copy->rows.end());
  copy->state->head = head;
  copy->state->head_chain = copy->rows.at(head).chain;
  return copy;
}

class Recovery : public testing::Test {
 protected:
  TestCore& open() {
    cores_.push_back(std::make_unique<TestCore>(disk_, clock_));
    cores_.back()->set_name("core" + std::to_string(cores_.size()));
    return *cores_.back();
  }
  Scribe& story(int run, const std::shared_ptr<const Definition>& definition) {
    stories_.push_back(std::make_unique<Scribe>(*journal_, run, definition));
    stories_.back()->now = clock_.now();
    return *stories_.back();
  }
  Position head() { return must(journal_->catch_up()); }

  // Executes all visible attempts; returns the steps in order.
  std::vector<std::string> work_off(TestCore& core) {
    std::vector<std::string> steps;
    for (;;) {
      const auto worker = core.worker();
      core.settle();
      if (worker->calls == 0) {
        core.core.withdraw_request(worker->waiting);
        return steps;
      }
      steps.push_back(worker->assignment().step.str() + "/" +
                      std::to_string(worker->assignment().attempt_number));
      core.core.drop(worker->assignment().claim_id);
      const auto done = core.complete(proof_of(worker->assignment()), completion());
      core.settle();
      EXPECT_EQ(done->code(), "ok");
    }
  }
  RunStatus status(int run) { return audit(journal_->log()).runs.at(run_no(run))->status(); }

  // A checkpoint at any position and the tail after it give the same state as the whole log.
  void expect_same_from_every_cut() {
    const Position end = head();
    auto whole = prefix_of(*disk_, end);
    const std::string expected = TestCore(whole, clock_).core.state().encode();
    EXPECT_FALSE(expected.empty());
    for (std::uint64_t cut = 1; cut <= end.value; ++cut) {
      TestCore part(prefix_of(*disk_, Position{cut}), clock_);
      part.core.request_checkpoint();
      part.core.decide(clock_.now());
      const auto checkpoint = part.core.take_checkpoint();
      ASSERT_TRUE(checkpoint.has_value());
      must(Core::save(*open_memory_journal(whole), *checkpoint));
      EXPECT_EQ(TestCore(whole, clock_).core.state().encode(), expected) << "cut at " << cut;
    }
  }
  // A core that ran all the time and a new core have the same state, and the new core finds no
  // pending recovery.
  void expect_same_as_newcomers(TestCore& core) {
    core.core.check_for_changes();
    core.settle();
    TestCore newcomer(prefix_of(*disk_, head()), clock_);
    newcomer.settle();
    EXPECT_EQ(core.core.state().encode(), newcomer.core.state().encode());
    expect_same_from_every_cut();
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  ManualClock clock_{kStart};
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
  std::shared_ptr<const Definition> one_ = definition_of(kOneStep);
  std::shared_ptr<const Definition> two_ = definition_of(kTwoSteps, "pair");
  std::shared_ptr<const Definition> retried_ =
      definition_of(R"([{"name":"a","retry":{"max_attempts":3,"delay_ms":10}}])", "stubborn");
  std::vector<std::unique_ptr<Scribe>> stories_;
  std::vector<std::unique_ptr<TestCore>> cores_;
};

// The fact by which step a of a run starts a child.
inline ChildRunStarted link_from(const Scribe& parent,
                                 const std::shared_ptr<const Definition>& child) {
  StartChild command;
  const Runnable& plan = parent.run.latest("a")->plan;
  command.origin = {plan.runnable_key, plan.step, plan.attempt_number};
  command.definition = child;
  command.child_key = "k";
  command.input = Payload::trusted(R"({"parcel":3})");
  // Decided on a copy, so that the parent does not evolve.
  const auto copy = must(RunProjection::decode(parent.run.encode()));
  const RunFacts facts = must(decide_start_child(*copy, command, parent.now));
  return std::get<ChildRunStarted>(facts.front());
}

}  // namespace holdfast

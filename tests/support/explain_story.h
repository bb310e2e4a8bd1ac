// For tests of explanations of one run: a story that can be explained, also when a writer left it
// unfinished.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/explain_support.h"
#include "tests/support/run_story.h"

namespace holdfast {

inline const std::string kRun = "00000000-0000-0000-0000-000000000001";

inline const FindRun& no_other_runs() {
  static const FindRun none = [](const RunId&) -> Result<std::optional<RunSource>> {
    return std::optional<RunSource>();
  };
  return none;
}

inline Explanation explained(const RunSource& source, const FindRun& find = no_other_runs()) {
  auto why = explain_run(source, find);
  EXPECT_TRUE(why.ok()) << why.error().text();
  return std::move(why).value();
}

struct ExplainedStory : RunStory {
  using RunStory::RunStory;

  [[nodiscard]] RunSource source() const {
    return {test.run.get(), {&queue}, Position{log.size()}, test.now};
  }
  [[nodiscard]] Explanation why(const FindRun& find = no_other_runs()) const {
    return explained(source(), find);
  }
  // The worker has reported the result, but the run has not applied it.
  void report_result(std::string_view step) {
    auto fact = by_holder<AttemptCompleted>(step);
    fact.result = json("{}");
    emit(fact);
  }
  void report_failure(std::string_view step, std::string_view error = R"({"code":"declined"})") {
    auto fact = by_holder<AttemptFailed>(step);
    fact.error = json(error);
    emit(fact);
    test.around.claimed.erase(test.key(step));
  }
  // The queue without the facts about a step.
  [[nodiscard]] std::unique_ptr<DispatchProjection> queue_without(std::string_view step) const {
    auto part = std::make_unique<DispatchProjection>(SharedText(kDefaultQueue));
    const std::string key = test.key(step);
    for (const Line& line : log) {
      const bool about = line.entry.data.view().find(key) != std::string_view::npos;
      if (line.thread.starts_with("dispatch:") && !about) {
        part->fold(line.view());
      }
    }
    return part;
  }
  // The run after the first entries of its thread.
  [[nodiscard]] std::unique_ptr<RunProjection> beginning(std::size_t entries) const {
    auto part = std::make_unique<RunProjection>(test.run->run_id());
    for (const Line& line : log) {
      if (line.thread.starts_with("run:") && part->revision().value < entries) {
        part->fold(line.view());
      }
    }
    return part;
  }
  [[nodiscard]] std::size_t run_entries() const { return test.run->revision().value; }

 private:
  template <typename Fact>
  Fact by_holder(std::string_view step) const {
    const Attempt* attempt = queue.find(test.key(step));
    Fact fact;
    fact.run_id = test.run->run_id();
    fact.runnable_key = attempt->runnable_key;
    fact.claim_id = attempt->claim->claim_id;
    fact.claim_token_hash = attempt->claim->token_hash;
    fact.queue = kDefaultQueue;
    return fact;
  }
};

}  // namespace holdfast

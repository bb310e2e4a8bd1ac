// RunQuestions: what the outside asks about runs, as questions that are decided in the loop.
// Arguments are checked when a question is made; it may then be decided by any thread, and again
// when another process was first: it is the same question each time.
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "holdfast/run.h"
#include "runs/engine/engine_command.h"
#include "runs/engine/step_chain.h"

namespace holdfast {

template <typename T>
using Question = std::function<Result<T>(Turn&)>;

class RunQuestions {
 public:
  // Both must outlive it. source: where the commands come from, for the record.
  RunQuestions(Clock& clock, Random& random, SharedText source)
      : clock_(clock), random_(random), source_(std::move(source)) {}

  // The refusals are those of the same members of Engine (holdfast/engine.h). trace: the W3C
  // trace context of whoever starts it, an object; empty: none.
  struct Start {
    RunId run_id;  // of the run if it is started now
    Question<Started> question;
  };
  Result<Start> start(std::string_view workflow, std::string_view input,
                      const StartOptions& options, const Payload& trace = {});
  Question<Done> cancel(const RunId& run, const CancelOptions& options);
  Result<Question<Done>> resolve(const RunId& run, ManualAction action,
                                 const DecisionOptions& options);
  Result<Question<Done>> signal(const RunId& run, std::string_view event, std::string_view payload,
                                const SignalOptions& options);
  Result<Start> replay(const RunId& run, const ReplayOptions& options);
  Result<Question<Done>> continue_as_new(const RunId& run, std::string_view input,
                                         std::string_view key);
  Result<Question<Done>> set_search_attributes(const RunId& run, std::string_view changes,
                                               std::string_view idempotency_key);
  static Question<Done> archive(const RunId& run, std::string_view reason);
  static Question<Done> unarchive(const RunId& run);

 private:
  std::string new_key();

  Clock& clock_;
  Random& random_;
  SharedText source_;
};

}  // namespace holdfast

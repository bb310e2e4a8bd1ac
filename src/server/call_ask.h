// The templates of server/call.h.
#pragma once

#include "server/service.h"

namespace holdfast {

template <typename T>
void ask(const CallPtr& call, Question<T> question, std::function<void(T)> then) {
  call->service.loop.ask_later<T>(std::move(question),
                                  [call, then = std::move(then)](Result<T> answer) {
                                    if (answer.ok()) {
                                      then(std::move(answer).value());
                                    } else {
                                      call->fail(answer.error());
                                    }
                                  });
}

template <typename T>
Question<T> guarded(const Call& call, const RunId& run, Question<T> question) {
  if (call.caller.workflows.empty()) {
    return question;
  }
  return [caller = call.caller, run, question = std::move(question)](Turn& turn) -> Result<T> {
    HOLDFAST_TRY(const RunProjection* known, turn.state().run(run));
    HOLDFAST_CHECK(check_workflow(
        caller, known->started().has_value() ? known->started()->workflow.view() : ""));
    return question(turn);
  };
}

}  // namespace holdfast

// The templates of server/call.h.
#pragma once

#include "apps/server/service.h"
#include "runs/engine/turn.h"
#include "runs/inspect/inspector.h"

namespace holdfast {

template <typename T>
void ask(const CallPtr& call, Question<T> question, std::function<void(T)> then) {
  call->service.loop.submit<T>(std::move(question),
                               [call, then = std::move(then)](Result<T> answer) {
                                 if (answer.ok()) {
                                   then(std::move(answer).value());
                                 } else {
                                   call->fail(answer.error());
                                 }
                               });
}

// How long a reading question waits for a loop that writes.
inline constexpr std::chrono::milliseconds kLoopPatience{250};

template <typename T>
void read_in_store(const CallPtr& call, const Question<T>& question,
                   const std::function<void(T)>& then) {
  read(call, [call, question, then]() -> Result<void> {
    std::optional<T> found;
    Inspector inspector(call->service.loop.journal(), call->service.clock);
    HOLDFAST_CHECK(inspector.ask([&](Turn& turn) -> Result<void> {
      HOLDFAST_TRY(found, question(turn));
      return {};
    }));
    then(*std::move(found));
    return {};
  });
}

template <typename T>
void ask_or_read(const CallPtr& call, Question<T> question, std::function<void(T)> then) {
  Service& service = call->service;
  if (service.loop.health().write_pending >= kLoopPatience) {
    return read_in_store(call, question, then);
  }
  const auto answered = std::make_shared<std::atomic<bool>>(false);
  const Alarm::Ticket patience = service.alarm.after(kLoopPatience, [=] {
    if (!answered->exchange(true)) {
      read_in_store(call, question, then);
    }
  });
  service.loop.submit<T>(question, [=](Result<T> answer) {
    if (answered->exchange(true)) {
      return;
    }
    call->service.alarm.cancel(patience);
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
    HOLDFAST_TRY(const RunProjection* known, turn.state().runs().get(run));
    HOLDFAST_CHECK(check_workflow(
        caller, known->started().has_value() ? known->started()->workflow.view() : ""));
    return question(turn);
  };
}

}  // namespace holdfast

// The templates of server_call.h.
#pragma once

#include "apps/server/service.h"
#include "runs/engine/turn.h"
#include "runs/inspect/inspector.h"

namespace holdfast {

template <typename T>
void submit(const CallPtr& call, TurnFunction<T> decide, std::function<void(T)> then) {
  call->service.loop.submit<T>(std::move(decide), [call, then = std::move(then)](Result<T> answer) {
    if (answer.ok()) {
      then(std::move(answer).value());
    } else {
      call->fail(answer.error());
    }
  });
}

// How long a query waits for the loop before it is read from the store.
inline constexpr std::chrono::milliseconds kLoopPatience{250};

template <typename T>
void read_in_store(const CallPtr& call, const TurnFunction<T>& query,
                   const std::function<void(T)>& then) {
  read(call, [call, query, then]() -> Result<void> {
    std::optional<T> found;
    Inspector inspector(call->service.loop.journal(), call->service.clock);
    HOLDFAST_CHECK(inspector.query([&](Turn& turn) -> Result<void> {
      HOLDFAST_TRY(found, query(turn));
      return {};
    }));
    then(*std::move(found));
    return {};
  });
}

template <typename T>
void submit_or_read(const CallPtr& call, TurnFunction<T> query, std::function<void(T)> then) {
  Service& service = call->service;
  if (service.loop.health().write_pending >= kLoopPatience) {
    return read_in_store(call, query, then);
  }
  const auto answered = std::make_shared<std::atomic<bool>>(false);
  const Alarm::Ticket patience = service.alarm.after(kLoopPatience, [=] {
    if (!answered->exchange(true)) {
      read_in_store(call, query, then);
    }
  });
  service.loop.submit<T>(query, [=](Result<T> answer) {
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
TurnFunction<T> guarded(const Call& call, const RunId& run, TurnFunction<T> decide) {
  if (call.caller.workflows.empty()) {
    return decide;
  }
  return [caller = call.caller, run, decide = std::move(decide)](Turn& turn) -> Result<T> {
    HOLDFAST_TRY(const RunProjection* known, turn.state().runs().get(run));
    HOLDFAST_CHECK(check_workflow(
        caller, known->started().has_value() ? known->started()->workflow.view() : ""));
    return decide(turn);
  };
}

}  // namespace holdfast

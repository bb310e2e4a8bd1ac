// For tests of views: a run with its definition and the queue of its attempts, and everything that
// happens to them as the entries of one log.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "runs/dispatch/dispatch_projection.h"
#include "tests/support/run_fixture.h"

namespace holdfast {

class RunStory {
 public:
  struct Line {
    std::string thread;
    NewEntry entry;
    Position position;

    [[nodiscard]] EntryView view() const {
      EntryView view;
      view.thread = thread;
      view.kind = entry.kind;
      view.at = entry.at;
      view.data = entry.data.view();
      return view;
    }
  };

  explicit RunStory(std::string_view steps) : test(steps) {}
  explicit RunStory(std::shared_ptr<const Definition> definition) : test(std::move(definition)) {}

  void wait(std::int64_t ms) { test.now.value += ms; }
  void start() { note(test.start()); }
  void start(std::string_view input) { note(test.start(input)); }

  // Records the facts of the run and their effects on the queue.
  void note(const RunFacts& facts) {
    for (const RunFact& fact : facts) {
      add(to_entry(fact, test.now), run_thread(test.run->run_id()).text());
      if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
        for (const Runnable& runnable : planned->runnables) {
          schedule(runnable);
        }
      } else if (const auto* applied = std::get_if<RunnableApplied>(&fact)) {
        end_attempt({applied->run_id, applied->runnable_key, !applied->transition.empty()});
      } else if (const auto* withdrawn = std::get_if<RunnablesWithdrawn>(&fact)) {
        for (const SharedText& key : withdrawn->runnable_keys) {
          end_attempt({withdrawn->run_id, key, false, true});
        }
      } else if (std::holds_alternative<RunTerminal>(fact)) {
        queue.end_run(test.run->run_id());
      }
    }
  }
  void emit(const DispatchFact& fact) {
    add(to_entry(fact, test.now), "dispatch:default");
    queue.evolve(test.now, fact);
    EXPECT_TRUE(queue.anomalies().empty()) << queue.anomalies().back().reason.view();
  }

  void claim(std::string_view step, std::string_view owner = "worker-7",
             std::int64_t lease_ms = 30'000) {
    auto fact = by_claim<AttemptClaimed>(step, ++claims_);
    fact.owner_id = owner;
    fact.lease_until = TimeMs{test.now.value + lease_ms};
    emit(fact);
    test.claim(step);
  }
  void extend(std::string_view step, std::int64_t lease_ms = 30'000) {
    auto fact = by_claim<AttemptHeartbeat>(step, claims_);
    fact.lease_until = TimeMs{test.now.value + lease_ms};
    emit(fact);
  }
  // Claims the step first, if it is unclaimed, and works for one second.
  void complete(std::string_view step, std::string_view result = "{}", std::string_view opts = "") {
    claim_once(step);
    auto fact = by_claim<AttemptCompleted>(step, claims_);
    fact.result = json(result);
    fact.execution_opts = json(opts);
    emit(fact);
    test.around.claimed.erase(test.key(step));
    note(test.apply(step, result, opts));
  }
  void fail(std::string_view step, std::string_view error = R"({"code":"declined"})") {
    claim_once(step);
    auto fact = by_claim<AttemptFailed>(step, claims_);
    fact.error = json(error);
    if (const auto retry = plan_retry(*test.run, test.failed(step, error),
                                      Failure{json(error), true, {}}, test.now)) {
      fact.retry_runnable_key = retry->runnable_key;
      fact.retry_idempotency_key = retry->idempotency_key;
      fact.retry_visible_at = retry->visible_at;
    }
    emit(fact);
    test.around.claimed.erase(test.key(step));
    note(test.fail(step, error));
  }
  void resolve(ManualAction action, std::string_view comment = "") {
    ResolveStep command;
    command.action = action;
    command.source.actor = "ann";
    command.source.comment = comment;
    note(test.put(
        [&](RunProjection& to) { return decide_resolve(to, command, test.around, test.now); }));
  }

  TestRun test;
  DispatchProjection queue{SharedText(kDefaultQueue)};
  std::deque<Line> log;

 private:
  template <typename Fact>
  Fact by_claim(std::string_view step, int claim) const {
    Fact fact;
    fact.run_id = test.run->run_id();
    fact.runnable_key = test.plan_of(step).runnable_key;
    fact.claim_id = "claim-" + std::to_string(claim);
    fact.claim_token_hash = sha256(fact.claim_id.view());
    fact.queue = kDefaultQueue;
    return fact;
  }
  void claim_once(std::string_view step) {
    const Attempt* attempt = queue.find(test.key(step));
    if (attempt == nullptr || attempt->status != AttemptStatus::claimed) {
      claim(step);
      wait(1000);
    }
  }
  void schedule(const Runnable& runnable) {
    if (!runnable.is_internal() && queue.find(runnable.runnable_key.view()) == nullptr) {
      emit(intent_of(runnable, test.definition->workflow()));
    }
  }
  void end_attempt(const ResultApplied& applied) {
    const Attempt* attempt = queue.find(applied.runnable_key.view());
    if (attempt != nullptr && !(applied.withdrawn && attempt->ended())) {
      queue.evolve(test.now, applied);
    }
  }
  void add(Result<NewEntry> entry, std::string_view thread) {
    ASSERT_TRUE(entry.ok()) << entry.error().text();
    log.push_back({std::string(thread), std::move(entry).value(), Position{log.size() + 1}});
  }

  int claims_ = 0;
};

}  // namespace holdfast

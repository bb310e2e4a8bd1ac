// What tests of the engine share: a core driven step by step on an in-memory disk, a store that
// injects faults, and a scribe that writes facts as another process would have left them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runs/engine/engine_core.h"
#include "tests/support/hooked_store.h"
#include "tests/support/run_values.h"
#include "tests/support/test_log.h"

namespace holdfast {

inline constexpr TimeMs kStart{1'700'000'000'000};

inline TimeMs after(TimeMs from, std::int64_t by_ms) { return TimeMs{from.value + by_ms}; }

inline constexpr std::string_view kOneStep = R"([{"name":"a"}])";
inline constexpr std::string_view kTwoSteps = R"([{"name":"a"},{"name":"b","after":["a"]}])";

inline StartRun start_of(int number, const std::shared_ptr<const Definition>& definition) {
  StartRun command;
  command.run_id = run_no(number);
  command.definition = definition;
  return command;
}

inline Completion completion(std::string_view result = "{}") {
  Completion done;
  done.result = Payload::trusted(result);
  return done;
}

inline Failure failure() {
  Failure failed;
  failed.error = Payload::trusted(R"({"code":"declined"})");
  return failed;
}

// A decision about a run, with its effects on other runs and queues.
template <typename Decision>
Result<Done> change_run(Turn& turn, const RunId& id, const Decision& decision) {
  HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(id));
  HOLDFAST_TRY(const RunFacts facts, decision(*run, EngineSurroundings(turn), turn.now()));
  HOLDFAST_CHECK(emit_with_attempts(turn, id, facts));
  return Done{};
}

inline Result<Done> cancel_run(Turn& turn, const RunId& id, OnCancel how = OnCancel::as_defined) {
  return change_run(turn, id, [how](RunProjection& run, const Surroundings& around, TimeMs now) {
    return decide_cancel(run, {}, how, around, now);
  });
}

// The reply to a command.
template <typename T>
struct Answer {
  int settled = 0;
  int decided = 0;
  std::optional<Result<T>> result;

  [[nodiscard]] std::string code() const {
    return result.has_value() ? std::string(code_of(*result)) : "none yet";
  }
};

struct TestWorker {
  ClaimRequestPtr waiting;
  int calls = 0;
  std::optional<Result<Assignment>> given;
  std::vector<std::string> lost;  // error codes

  [[nodiscard]] std::string code() const {
    return given.has_value() ? std::string(code_of(*given)) : "none yet";
  }
  [[nodiscard]] const Assignment& assignment() const { return given->value(); }
};

// A core without threads. The test chooses when it decides and when it writes.
class TestCore {
 public:
  explicit TestCore(const std::shared_ptr<MemoryDisk>& disk, ManualClock& time,
                    const CoreOptions& options = {})
      : clock(time),
        hooks(std::make_shared<StoreHooks>()),
        journal(open_hooked_journal(disk, hooks)),
        definitions(*journal),
        core(*journal, definitions, options) {
    must(core.open());
  }

  template <typename T>
  std::shared_ptr<Answer<T>> execute(std::function<Result<T>(Turn&)> decide) {
    auto answer = std::make_shared<Answer<T>>();
    core.post(std::make_shared<FunctionCommand<T>>(
        [answer, decide = std::move(decide)](Turn& turn) {
          ++answer->decided;
          return decide(turn);
        },
        [answer](Result<T> result) {
          ++answer->settled;
          answer->result.emplace(std::move(result));
        }));
    return answer;
  }
  std::shared_ptr<Answer<Started>> start(const StartRun& command) {
    return execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); });
  }
  std::shared_ptr<Answer<Done>> complete(const ClaimProof& proof, const Completion& with) {
    return execute<Done>([proof, with](Turn& turn) -> Result<Done> {
      HOLDFAST_CHECK(complete_attempt(turn, proof, with));
      return Done{};
    });
  }
  std::shared_ptr<Answer<Done>> fail(const ClaimProof& proof, const Failure& with) {
    return execute<Done>([proof, with](Turn& turn) -> Result<Done> {
      HOLDFAST_CHECK(fail_attempt(turn, proof, with));
      return Done{};
    });
  }
  std::shared_ptr<Answer<Done>> cancel(const RunId& id, OnCancel how = OnCancel::as_defined) {
    return execute<Done>([id, how](Turn& turn) { return cancel_run(turn, id, how); });
  }
  std::shared_ptr<Answer<Done>> send(const RunId& id, const SendEvent& event) {
    return change(id, [event](RunProjection& run, const Surroundings& around, TimeMs now) {
      return decide_receive_event(run, event, around, now);
    });
  }
  std::shared_ptr<Answer<Done>> resolve(const RunId& id, const ResolveStep& resolution) {
    return change(id, [resolution](RunProjection& run, const Surroundings& around, TimeMs now) {
      return decide_resolve(run, resolution, around, now);
    });
  }
  // New runs of its workflow use this definition, in every process.
  std::shared_ptr<Answer<Done>> add(const std::shared_ptr<const Definition>& definition) {
    definitions.add(definition);
    return execute<Done>([definition](Turn& turn) -> Result<Done> {
      HOLDFAST_CHECK(turn.emit_registration(*definition));
      return Done{};
    });
  }
  std::shared_ptr<TestWorker> worker(std::vector<SharedText> handlers = {}) {
    auto worker = std::make_shared<TestWorker>();
    worker->waiting = std::make_shared<ClaimRequest>();
    worker->waiting->skills =
        std::make_shared<const Skills>(Skills{{{SharedText(kDefaultQueue)}}, handlers});
    const std::string name = "claim-" + std::to_string(++workers_) + "-" + name_;
    worker->waiting->applicants = {Applicant{
        Claimant{SharedText(name), sha256(name), SharedText(name_), std::move(handlers)}, name}};
    worker->waiting->assigned = [raw = worker.get()](std::vector<Result<Assignment>> results) {
      ASSERT_EQ(results.size(), 1U);
      ++raw->calls;
      raw->given.emplace(std::move(results.front()));
    };
    worker->waiting->lost = [raw = worker.get()](const SharedText&, const Error& why) {
      raw->lost.emplace_back(error_info(why.code()).name);
    };
    kept_.push_back(worker);
    core.request_claim(worker->waiting);
    return worker;
  }
  void set_name(std::string name) { name_ = std::move(name); }

  void decide() {
    core.decide(clock.now());
    carry_out();
  }
  template <typename Decision>
  std::shared_ptr<Answer<Done>> change(const RunId& id, const Decision& decision) {
    return execute<Done>([id, decision](Turn& turn) { return change_run(turn, id, decision); });
  }
  // Writes the decided facts, if there are any.
  bool write() {
    if (!core.can_write()) {
      return false;
    }
    const Core::Write what = core.begin_write();
    end(commit(what));
    return true;
  }
  Result<Committed> commit(const Core::Write& what) {
    return journal->commit_at(what.expected_head, std::move(*what.commit));
  }
  void end(const Result<Committed>& outcome) {
    core.end_write(outcome, clock.now());
    carry_out();
  }
  // Decides and writes until there is nothing to do at this time.
  void settle() {
    for (int turns = 0; core.has_work(clock.now()) || core.can_write(); ++turns) {
      ASSERT_LT(turns, 10'000) << "the core never becomes idle";
      decide();
      write();
    }
  }
  // Commits since the core was created.
  [[nodiscard]] std::uint64_t commits() const { return hooks->appends; }
  void carry_out() {
    for (const auto& effect : core.take_effects()) {
      effect();
    }
    for (CommitReport& report : core.take_reports()) {
      reports.push_back(std::move(report));
    }
  }

  ManualClock& clock;
  std::shared_ptr<StoreHooks> hooks;
  std::unique_ptr<Journal> journal;
  Definitions definitions;
  Core core;
  std::vector<CommitReport> reports;

 private:
  std::string name_ = "w";
  int workers_ = 0;
  std::vector<std::shared_ptr<TestWorker>> kept_;
};

// One run as another process writes it, one thread at a time; it can stop at any point.
class Scribe {
 public:
  Scribe(Journal& journal, int number, std::shared_ptr<const Definition> of)
      : definition(std::move(of)), run(run_no(number)), queue(kDefaultQueue), journal_(journal) {}

  // The run's own part of its start, before anything is in a queue.
  void start() {
    StartRun command;
    command.run_id = run.run_id();
    command.definition = definition;
    record(must(decide_start(run, command, nothing_around(), now)));
  }
  void register_definition() {
    append(definition_thread(definition->fingerprint().view()),
           to_entry(DefinitionRegistered{definition->workflow(), definition->fingerprint(),
                                         definition->version(), definition->spec()},
                    now));
  }
  void schedule(std::string_view step) {
    emit(intent_of(run.latest(step)->plan, definition->workflow()));
  }
  void claim(std::string_view step, std::int64_t lease_ms = 30'000, std::string_view by = "dead") {
    AttemptClaimed fact = of_claim<AttemptClaimed>(step, by);
    fact.owner_id = by;
    fact.lease_until = after(now, lease_ms);
    emit(fact);
  }
  void complete(std::string_view step, std::string_view result = "{}",
                std::string_view by = "dead") {
    AttemptCompleted fact = of_claim<AttemptCompleted>(step, by);
    fact.result = Payload::trusted(result);
    emit(fact);
  }
  enum class Again : std::uint8_t { no, yes };
  void fail(std::string_view step, Again again) {
    AttemptFailed fact = of_claim<AttemptFailed>(step, "dead");
    fact.error = Payload::trusted(R"({"code":"declined"})");
    if (again == Again::yes) {
      const Runnable& plan = run.latest(step)->plan;
      fact.retry_runnable_key = runnable_key(run.run_id(), step, plan.attempt_number + 1);
      fact.retry_idempotency_key = plan.idempotency_key;
      fact.retry_visible_at = after(now, 10);
    }
    emit(fact);
  }
  // Applies the result to the run, with all that follows from it.
  void apply(std::string_view step) {
    const Attempt* attempt = queue.find(run.latest(step)->plan.runnable_key.view());
    record(must(decide_apply(run, *attempt, nothing_around(), now)));
  }
  void work(std::string_view step) {
    schedule(step);
    claim(step);
    complete(step);
    apply(step);
  }

  // Appends the facts of one decision in one batch. The run has evolved already.
  void record(const RunFacts& facts) {
    std::vector<NewEntry> entries;
    for (const RunFact& fact : facts) {
      entries.push_back(must(to_entry(fact, now)));
    }
    must(journal_.append(run_thread(run.run_id()), std::move(entries)));
  }
  // A fact without a decision.
  void emit(const RunFact& fact) {
    run.evolve(now, fact);
    record({fact});
  }
  void emit(const DispatchFact& fact) {
    queue.evolve(now, fact);
    append(dispatch_thread(kDefaultQueue), to_entry(fact, now));
  }
  void append(const ThreadId& to, Result<NewEntry> entry) {
    must(journal_.append(to, {must(std::move(entry))}));
  }

  template <typename Fact>
  Fact of_claim(std::string_view step, std::string_view by) const {
    Fact fact;
    fact.run_id = run.run_id();
    fact.runnable_key = run.latest(step)->plan.runnable_key;
    fact.claim_id = by;
    fact.claim_token_hash = sha256(by);
    fact.queue = kDefaultQueue;
    return fact;
  }

  std::shared_ptr<const Definition> definition;
  RunProjection run;
  DispatchProjection queue;
  TimeMs now = kStart;

 private:
  Journal& journal_;
};

// The kinds of all entries of a journal from a position on, in commit order.
inline std::vector<std::string> kinds_from(Journal& journal, Position from) {
  std::vector<std::string> kinds;
  must(journal.catch_up());
  for (const std::string& body : bodies_from(journal.log(), from)) {
    BodyScanner scanner(from, body);
    while (const auto entry = must(scanner.next())) {
      kinds.emplace_back(entry->kind);
    }
  }
  return kinds;
}

}  // namespace holdfast

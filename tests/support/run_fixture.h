// For tests: a run with its definition, its surroundings, and the attempts its queue would hold.
//
// Decisions go through put(), which checks the guarantees of the module: a decision can be undone,
// is the same when it is decided again, breaks no rule, can be stored, and gives the same run when
// folded from the store. At the end the test undoes everything.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runs/run/run_decide.h"
#include "runs/run/run_planning.h"
#include "tests/support/run_values.h"

namespace holdfast {

inline void PrintTo(const Payload& payload, std::ostream* out) { *out << payload.view(); }
inline void PrintTo(const SharedText& text, std::ostream* out) { *out << text.view(); }
inline void PrintTo(RunStatus status, std::ostream* out) { *out << to_text(status); }

// With transitions and further members of the spec, such as R"("timeout":"1m")".
inline std::shared_ptr<const Definition> flow(std::string_view steps, std::string_view transitions,
                                              std::string_view more = "") {
  std::string spec = R"({"workflow":"order","version":"1","steps":)" + std::string(steps);
  spec += R"(,"transitions":)" + std::string(transitions);
  spec += more.empty() ? "" : "," + std::string(more);
  return parsed(spec + "}");
}

inline std::vector<std::string> kinds(const RunFacts& facts) {
  std::vector<std::string> names;
  for (const RunFact& fact : facts) {
    names.emplace_back(kind_of(fact));
  }
  return names;
}
using Kinds = std::vector<std::string>;

template <typename Fact>
std::vector<Fact> all(const RunFacts& facts) {
  std::vector<Fact> found;
  for (const RunFact& fact : facts) {
    if (const auto* one = std::get_if<Fact>(&fact)) {
      found.push_back(*one);
    }
  }
  return found;
}

// The first fact of that type; fails the test if there is none.
template <typename Fact>
Fact the(const RunFacts& facts) {
  const std::vector<Fact> found = all<Fact>(facts);
  if (found.empty()) {
    ADD_FAILURE() << "no " << Fact::kKind;
    return {};
  }
  return found.front();
}

inline std::vector<Runnable> planned_runnables(const RunFacts& facts) {
  std::vector<Runnable> runnables;
  for (const RunnablesPlanned& planned : all<RunnablesPlanned>(facts)) {
    runnables.insert(runnables.end(), planned.runnables.begin(), planned.runnables.end());
  }
  return runnables;
}

inline std::vector<std::string> planned_steps(const RunFacts& facts) {
  std::vector<std::string> steps;
  for (const Runnable& runnable : planned_runnables(facts)) {
    steps.push_back(runnable.step.str());
  }
  return steps;
}
using Steps = std::vector<std::string>;

// What a run derives from its facts and does not store.
inline std::string derived(const RunProjection& run, const Definition& definition) {
  std::string text = "open " + std::to_string(run.open_count());
  text += " status " + std::string(to_text(run.status()));
  for (const PlannedRunnable* planned : run.runnables()) {
    const std::string_view step = planned->plan.step.view();
    text += run.latest(step) == planned ? " latest " + planned->plan.runnable_key.str() : "";
    text += " visits " + std::to_string(run.visits(step));
    if (const EachProgress* each = run.each(step)) {
      text += " each " + std::to_string(each->next) + " " + std::to_string(each->done);
      for (const std::string_view item : each->items) {
        text += " " + std::string(item);
      }
    }
  }
  const StepProgress progress =
      run.definition() == nullptr ? StepProgress(definition) : run.progress();
  text += " done " + std::to_string(progress.done_count);
  for (std::size_t step = 0; step < progress.done.size(); ++step) {
    text += progress.done[step] ? " +" : " -";
    text += std::to_string(progress.unmet[step]);
  }
  for (const auto& [step, time] : progress.not_before) {
    text += " not before " + std::to_string(step) + " " + std::to_string(time.value);
  }
  return text;
}

class TestWorld final : public Surroundings {
 public:
  [[nodiscard]] std::shared_ptr<const Definition> current(
      std::string_view workflow) const override {
    const auto found = workflows.find(std::string(workflow));
    return found == workflows.end() ? nullptr : found->second;
  }
  [[nodiscard]] bool is_claimed(std::string_view runnable_key) const override {
    return claimed.contains(std::string(runnable_key));
  }

  std::map<std::string, std::shared_ptr<const Definition>> workflows;
  std::set<std::string> claimed;
};

struct TestRun {
  using Decision = std::function<Result<RunFacts>(RunProjection&)>;

  explicit TestRun(std::string_view steps) : TestRun(definition_of(steps)) {}
  explicit TestRun(std::shared_ptr<const Definition> which, int number = 1)
      : definition(std::move(which)),
        run(std::make_unique<RunProjection>(run_no(number))),
        stored(std::make_unique<RunProjection>(run_no(number))) {
    run->set_undo(&undo);
  }
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;
  ~TestRun() {
    undo.roll_back_to(undo.oldest());
    const RunProjection nothing(run->run_id());
    EXPECT_EQ(run->encode(), nothing.encode());
    EXPECT_EQ(derived(*run, *definition), derived(nothing, *definition));
  }

  // The decision, without applying it.
  Result<RunFacts> dry_run(const Decision& decide) {
    const std::string bytes = run->encode();
    const std::string more = derived(*run, *definition);
    const UndoLog::Mark mark = undo.mark();
    Result<RunFacts> decided = decide(*run);
    undo.roll_back_to(mark);
    EXPECT_EQ(run->encode(), bytes) << "the decision cannot be undone";
    EXPECT_EQ(derived(*run, *definition), more) << "the decision cannot be undone";
    return decided;
  }
  // Decides and applies the facts.
  RunFacts put(const Decision& decide) {
    const Result<RunFacts> tried = dry_run(decide);
    if (!tried.ok()) {
      ADD_FAILURE() << tried.error().text();
      return {};
    }
    Result<RunFacts> decided = decide(*run);
    EXPECT_TRUE(decided.ok() && decided.value() == tried.value());
    for (const RunFact& fact : decided.value()) {
      store(fact);
    }
    if (stored->definition() != run->definition()) {
      stored->attach(run->definition());  // it has migrated
    }
    EXPECT_EQ(run->encode(), stored->encode());
    EXPECT_EQ(derived(*run, *definition), derived(*stored, *definition));
    check_bytes();
    EXPECT_TRUE(run->anomalies().empty()) << run->anomalies().back().reason.view();
    return std::move(decided).value();
  }

  StartRun start_command() const {
    StartRun command;
    command.run_id = run->run_id();
    command.definition = definition;
    command.input = json(R"({"order":7})");
    return command;
  }
  RunFacts start() { return start(start_command()); }
  RunFacts start(std::string_view input) {
    StartRun command = start_command();
    command.input = json(input);
    return start(command);
  }
  RunFacts start(const StartRun& command) {
    return put([&](RunProjection& to) { return decide_start(to, command, around, now); });
  }

  // The completed attempt of the newest plan of a step.
  Attempt completed(std::string_view step, std::string_view result = "{}",
                    std::string_view opts = "") const {
    Attempt attempt = attempt_of(plan_of(step));
    attempt.status = AttemptStatus::completed;
    attempt.outcome->result = json(result);
    attempt.outcome->execution_opts = json(opts);
    return attempt;
  }
  Attempt failed(std::string_view step, std::string_view error = R"({"code":"declined"})") const {
    Attempt attempt = attempt_of(plan_of(step));
    attempt.status = AttemptStatus::failed;
    attempt.outcome->error = json(error);
    return attempt;
  }
  Attempt attempt_of(const Runnable& runnable) const {
    const AttemptScheduled intent = intent_of(runnable, definition->workflow());
    Attempt attempt;
    attempt.run_id = intent.run_id;
    attempt.runnable_key = intent.runnable_key;
    attempt.idempotency_key = intent.idempotency_key;
    attempt.step = intent.step;
    attempt.handler = intent.handler;
    attempt.input = intent.input;
    attempt.visible_at = intent.visible_at;
    attempt.attempt_number = intent.attempt_number;
    attempt.outcome.emplace().at = now;
    if (!intent.event_wait_timeout.empty()) {
      attempt.extras.emplace().event_wait_timeout = intent.event_wait_timeout;
    }
    return attempt;
  }
  // The newest plan of a step; fails the test if there is none.
  const Runnable& plan_of(std::string_view step) const {
    static const Runnable nothing;
    const PlannedRunnable* latest = run->latest(step);
    EXPECT_NE(latest, nullptr) << "nothing is planned for " << step;
    return latest == nullptr ? nothing : latest->plan;
  }
  Origin origin(std::string_view step) const {
    const Runnable& plan = plan_of(step);
    return {plan.runnable_key, plan.step, plan.attempt_number};
  }
  std::string key(std::string_view step) const { return plan_of(step).runnable_key.str(); }

  Decision applying(const Attempt& attempt) const {
    return [this, attempt](RunProjection& to) { return decide_apply(to, attempt, around, now); };
  }
  // Completes and applies.
  RunFacts apply(std::string_view step, std::string_view result = "{}",
                 std::string_view opts = "") {
    return put(applying(completed(step, result, opts)));
  }
  // Fails the step and applies its retry policy.
  RunFacts fail(std::string_view step, std::string_view error = R"({"code":"declined"})") {
    const Attempt attempt = failed(step, error);
    const auto retry = plan_retry(*run, attempt, Failure{json(error), true, {}}, now);
    return put([&](RunProjection& to) {
      return decide_after_failure(to, attempt, attempt.outcome->error, retry, around, now);
    });
  }
  RunFacts cancel(OnCancel how = OnCancel::as_defined) {
    return put([&](RunProjection& to) { return decide_cancel(to, {}, how, around, now); });
  }
  Decision firing(const std::string& runnable_key) const {
    return [this, runnable_key](RunProjection& to) {
      return decide_timer(to, runnable_key, around, now);
    };
  }
  // Advances to the time of the timer.
  RunFacts fire(const std::string& runnable_key) {
    now = run->find(runnable_key)->plan.visible_at;
    return put(firing(runnable_key));
  }
  Decision resolving(ManualAction action, std::string_view step = "",
                     std::string_view idempotency_key = "") const {
    ResolveStep command;
    command.action = action;
    command.step = step;
    command.source.actor = "ann";
    command.source.idempotency_key = idempotency_key;
    return [this, command](RunProjection& to) { return decide_resolve(to, command, around, now); };
  }
  RunFacts resolve(ManualAction action, std::string_view step = "") {
    return put(resolving(action, step));
  }
  Decision sending(std::string_view event, std::string_view idempotency_key,
                   std::string_view payload = "{}", std::string_view correlation = "") const {
    SendEvent command;
    command.event = event;
    command.correlation = correlation;
    command.payload = json(payload);
    command.source.idempotency_key = idempotency_key;
    return [this, command](RunProjection& to) {
      return decide_receive_event(to, command, around, now);
    };
  }
  RunFacts send(std::string_view event, std::string_view idempotency_key,
                std::string_view payload = "{}", std::string_view correlation = "") {
    return put(sending(event, idempotency_key, payload, correlation));
  }
  RunFacts child_ended(const std::string& runnable_key, const ChildEnd& end) {
    return put(
        [&](RunProjection& to) { return decide_child_ended(to, runnable_key, end, around, now); });
  }

  void claim(std::string_view step) { around.claimed.insert(key(step)); }
  const Payload& input(std::string_view step) const { return plan_of(step).input; }
  // The error code of the run.
  std::string error_code() const {
    return run->is_terminal() ? error_code_of(run->terminal()->error) : "the run has not ended";
  }

  // The code of the error with which the step is parked.
  std::string parked_code(std::string_view step) const {
    const ManualState* parked = run->parked(SharedText(step));
    return parked == nullptr ? "it is not parked" : error_code_of(parked->error);
  }

  std::shared_ptr<const Definition> definition;
  TestWorld around;
  UndoLog undo;
  std::unique_ptr<RunProjection> run;
  std::unique_ptr<RunProjection> stored;  // folded from what is stored
  TimeMs now{1000};

 private:
  void store(const RunFact& fact) {
    const auto entry = to_entry(fact, now);
    ASSERT_TRUE(entry.ok()) << kind_of(fact) << ": " << entry.error().text();
    EntryView view;
    view.kind = entry.value().kind;
    view.at = entry.value().at;
    view.data = entry.value().data.view();
    stored->fold(view);
    if (stored->definition() == nullptr) {
      stored->attach(definition);
    }
  }
  // Encodes and decodes the run.
  void check_bytes() const {
    const auto read = RunProjection::decode(run->encode());
    ASSERT_TRUE(read.ok()) << read.error().text();
    read.value()->attach(run->definition());
    EXPECT_EQ(read.value()->encode(), run->encode());
    EXPECT_EQ(derived(*read.value(), *definition), derived(*run, *definition));
  }
};

// The transition taken by the first step that was applied.
inline TransitionTaken taken(const RunFacts& facts) {
  const auto read = from_json<TransitionTaken>(the<RunnableApplied>(facts).transition.view());
  EXPECT_TRUE(read.ok()) << "no transition";
  return read.ok() ? read.value() : TransitionTaken{};
}

// charge, then ship and bill, then thank.
inline constexpr std::string_view kDiamond =
    R"([{"name":"charge"},{"name":"ship","after":["charge"]},{"name":"bill","after":["charge"]},)"
    R"({"name":"thank","after":["ship","bill"]}])";
inline constexpr std::string_view kLine = R"([{"name":"ask"},{"name":"act","after":["ask"]}])";

}  // namespace holdfast

// The promises of the protocol that need an engine, one test each; see tests/protocol_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "base/encoding.h"
#include "runs/engine/engine_loop.h"
#include "tests/support/engine_support.h"
#include "tests/support/temp_dir.h"

namespace holdfast::protocol_engine_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kJoin = R"([{"name":"a"},{"name":"b"},{"name":"c","after":["a","b"]}])";

class ProtocolEngine : public testing::Test {
 protected:
  TestCore& open() {
    cores_.push_back(std::make_unique<TestCore>(disk_, clock_));
    cores_.back()->set_name("core" + std::to_string(cores_.size()));
    return *cores_.back();
  }
  // The kinds of the stored facts.
  std::vector<std::string> stored(Position from = Position{1}) {
    return kinds_from(*open_memory_journal(disk_), from);
  }
  // The steps that were ever scheduled, in order.
  std::vector<std::string> scheduled_steps() {
    std::vector<std::string> steps;
    for (const Entry& entry : must(open_memory_journal(disk_)->load(dispatch_thread("default")))) {
      const auto fact = must(dispatch_fact(entry.kind, entry.data));
      if (const auto* scheduled = std::get_if<AttemptScheduled>(&fact)) {
        steps.push_back(scheduled->step.str());
      }
    }
    return steps;
  }
  static void finish(TestCore& core, const TestWorker& worker) {
    core.core.drop(worker.assignment().claim_id);
    const auto done = core.complete(proof_of(worker.assignment()), completion());
    core.settle();
    EXPECT_EQ(done->code(), "ok");
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  ManualClock clock_{kStart};
  std::shared_ptr<const Definition> one_ = definition_of(kOneStep);
  std::shared_ptr<const Definition> two_ = definition_of(kTwoSteps, "pair");
  std::vector<std::unique_ptr<TestCore>> cores_;
};

TEST_F(ProtocolEngine, facts_must_be_durable_before_any_effect) {
  TestCore& core = open();
  const auto started = core.start(start_of(1, one_));
  const auto worker = core.worker();
  core.decide();
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_EQ(started->settled, 0);
  EXPECT_EQ(worker->calls, 0);
  EXPECT_THAT(core.reports, IsEmpty());
  core.write();
  EXPECT_EQ(started->settled, 1);
  EXPECT_EQ(worker->calls, 1);
  EXPECT_THAT(core.reports, SizeIs(1));
}

TEST_F(ProtocolEngine, a_step_and_its_consequences_are_one_commit) {
  TestCore& core = open();
  core.start(start_of(1, two_));
  const auto first = core.worker();
  core.settle();
  const Position before = must(core.journal->catch_up());
  core.complete(proof_of(first->assignment()), completion());
  const auto second = core.worker();
  core.settle();
  EXPECT_EQ(must(core.journal->catch_up()), before.next());
  EXPECT_THAT(stored(before.next()),
              ElementsAre("attempt_completed", "runnable_applied", "runnables_planned",
                          "attempt_scheduled", "attempt_claimed"));
  EXPECT_EQ(second->assignment().step, SharedText("b"));
}

TEST_F(ProtocolEngine, a_join_gets_its_intent_only_after_every_dependency_is_durable) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(kJoin)));
  const auto a = core.worker();
  const auto b = core.worker();
  core.settle();
  EXPECT_THAT(scheduled_steps(), ElementsAre("a", "b"));
  finish(core, *b);
  EXPECT_THAT(scheduled_steps(), ElementsAre("a", "b"));
  finish(core, *a);
  EXPECT_THAT(scheduled_steps(), ElementsAre("a", "b", "c"));
}

TEST_F(ProtocolEngine, a_stale_writer_gets_a_conflict_and_decides_again_on_the_current_state) {
  TestCore& slow = open();
  TestCore& fast = open();
  slow.start(start_of(1, one_));
  slow.settle();
  fast.core.check_for_changes();
  fast.settle();
  const auto late = slow.worker();
  slow.decide();
  const Core::Write what = slow.core.begin_write();
  const auto first = fast.worker();
  fast.settle();
  ASSERT_EQ(first->code(), "ok");
  const auto outcome = slow.commit(what);
  EXPECT_EQ(code_of(outcome), "conflict");
  slow.end(outcome);
  slow.settle();
  EXPECT_EQ(late->calls, 0) << "the attempt is claimed already";
  EXPECT_EQ(slow.core.stats().conflicts, 1U);
}

TEST_F(ProtocolEngine, recovery_schedules_planned_attempts_before_it_applies_results) {
  auto journal = open_memory_journal(disk_);
  Scribe done(*journal, 1, two_);
  done.register_definition();
  done.start();
  done.schedule("a");
  done.claim("a");
  done.complete("a");
  Scribe planned(*journal, 2, one_);
  planned.register_definition();
  planned.start();
  const Position before = must(journal->catch_up());
  open().settle();
  EXPECT_THAT(stored(before.next()), ElementsAre("attempt_scheduled", "runnable_applied",
                                                 "runnables_planned", "attempt_scheduled"));
}

TEST_F(ProtocolEngine, a_result_is_applied_with_its_completion_or_after_it_never_before) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  const auto worker = core.worker();
  core.settle();
  const auto early = core.execute<RunFacts>([](Turn& turn) -> Result<RunFacts> {
    HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(run_no(1)));
    const Attempt* claimed = turn.state().queues().get(kDefaultQueue).attempts().front();
    return decide_apply(*run, *claimed, EngineSurroundings(turn), turn.now());
  });
  core.settle();
  EXPECT_EQ(early->code(), "result_not_completed");
  finish(core, *worker);
  const std::vector<std::string> kinds = stored();
  const auto completed = std::find(kinds.begin(), kinds.end(), "attempt_completed");
  const auto applied = std::find(kinds.begin(), kinds.end(), "runnable_applied");
  EXPECT_LT(completed, applied);
  EXPECT_NE(applied, kinds.end());
}

TEST_F(ProtocolEngine, the_end_of_a_run_fences_its_remaining_work) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(kJoin)));
  const auto holder = core.worker();
  core.settle();
  const auto cancelled = core.cancel(run_no(1));
  core.settle();
  ASSERT_EQ(cancelled->code(), "ok");
  const auto done = core.complete(proof_of(holder->assignment()), completion());
  const auto idle = core.worker();
  core.settle();
  EXPECT_EQ(done->code(), "terminal_run");
  EXPECT_EQ(idle->calls, 0);
  TestCore& later = open();
  const auto newcomer = later.worker();
  later.settle();
  clock_.advance_ms(100'000);
  later.settle();
  EXPECT_EQ(newcomer->calls, 0);
}

TEST_F(ProtocolEngine, a_timer_is_not_work_for_a_worker_and_needs_no_completion) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","wait":{"for_ms":500}}])")));
  const auto worker = core.worker();
  core.settle();
  EXPECT_THAT(scheduled_steps(), ElementsAre("a"));
  const Position before = must(core.journal->catch_up());
  clock_.advance_ms(500);
  core.settle();
  EXPECT_EQ(worker->calls, 0);
  EXPECT_THAT(stored(before.next()), ElementsAre("runnable_applied", "run_terminal"));
}

TEST_F(ProtocolEngine, steps_executed_by_the_engine_are_planned_and_not_queued) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","log":"hello"},
                                           {"name":"b","after":["a"],"pause":true}])")));
  core.settle();
  EXPECT_THAT(scheduled_steps(), IsEmpty());
  const RunProjection& run = *must(core.core.state().runs().get(run_no(1)));
  EXPECT_EQ(run.latest("a")->plan.handler.view(), kEngineHandler);
  EXPECT_TRUE(run.latest("a")->applied);
  EXPECT_EQ(run.latest("b")->plan.handler.view(), kEngineHandler);
  EXPECT_EQ(run.status(), RunStatus::paused);
}

TEST_F(ProtocolEngine, an_attempt_that_takes_too_long_has_failed_and_its_report_is_stale) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","timeout":{"start_to_close_ms":500},)"
                                       R"("retry":{"max_attempts":2}}])")));
  const auto late = core.worker();
  core.settle();
  clock_.advance_ms(500);
  core.settle();
  EXPECT_THAT(late->lost, ElementsAre("stale_claim"));
  const auto report = core.complete(proof_of(late->assignment()), completion());
  const auto second = core.worker();
  core.settle();
  EXPECT_EQ(report->code(), "stale_claim");
  EXPECT_EQ(second->assignment().attempt_number, 2U);
}

TEST_F(ProtocolEngine, a_timer_that_two_engines_see_is_written_once) {
  TestCore& slow = open();
  slow.add(must(Definition::parse(
      R"({"workflow":"report","steps":[{"name":"a","log":"now"}],"triggers":[{"name":"often",)"
      R"("cron":{"expression":"*/5 * * * *","timezone":"UTC"}}]})")));
  slow.start(start_of(1, definition_of(R"([{"name":"a","wait":{"for_ms":100000}}])")));
  slow.settle();
  TestCore& fast = open();
  clock_.advance_ms(100'000);  // 22:15:00
  slow.decide();
  const Core::Write what = slow.core.begin_write();
  fast.settle();
  const auto outcome = slow.commit(what);
  EXPECT_EQ(code_of(outcome), "conflict");
  slow.end(outcome);
  slow.settle();
  const std::vector<std::string> kinds = stored();
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "run_started"), 2);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "run_terminal"), 2);
}

TEST_F(ProtocolEngine, claimed_attempts_end_before_a_run_compensates) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"book","compensate":"unbook"},
                                           {"name":"pay"},{"name":"never","pause":true}])")));
  const auto book = core.worker({"book"});
  const auto pay = core.worker({"pay"});
  core.settle();
  const auto cancelled = core.cancel(run_no(1), OnCancel::compensate);
  core.settle();
  ASSERT_EQ(cancelled->code(), "ok");
  const auto undo = core.worker({"unbook"});
  finish(core, *book);
  EXPECT_EQ(undo->calls, 0) << "the other attempt is still claimed";
  finish(core, *pay);
  EXPECT_EQ(undo->assignment().step, SharedText("compensate:book"));
  finish(core, *undo);
  EXPECT_THAT(stored(), ::testing::Contains("runnables_withdrawn"));
  EXPECT_EQ(core.core.state().runs().count(), 0U);
}

StartChild child_of(const RunProjection& parent, const std::shared_ptr<const Definition>& what) {
  const Runnable& plan = parent.latest("a")->plan;
  StartChild command;
  command.origin = {plan.runnable_key, plan.step, plan.attempt_number};
  command.definition = what;
  command.child_key = "k";
  command.input = Payload::trusted(R"({"weight":3})");
  return command;
}

class ProtocolChild : public ProtocolEngine {
 protected:
  void SetUp() override {
    core_ = &open();
    core_->start(start_of(1, two_));
    worker_ = core_->worker();
    core_->settle();
    command_ = child_of(*must(core_->core.state().runs().get(run_no(1))), one_);
  }
  std::shared_ptr<Answer<Started>> start(const StartChild& command) {
    auto answer = core_->execute<Started>(
        [command](Turn& turn) { return start_child(turn, run_no(1), command); });
    core_->settle();
    return answer;
  }

  TestCore* core_ = nullptr;
  std::shared_ptr<TestWorker> worker_;
  StartChild command_;
};

TEST_F(ProtocolChild, starting_the_same_child_again_is_idempotent) {
  const auto first = start(command_);
  const Position before = must(core_->journal->catch_up());
  const auto again = start(command_);
  EXPECT_EQ(must(*again->result).run_id, must(*first->result).run_id);
  EXPECT_TRUE(must(*again->result).existed);
  EXPECT_EQ(must(core_->journal->catch_up()), before);
}

TEST_F(ProtocolChild, a_conflicting_child_is_refused_and_changes_no_history) {
  start(command_);
  const Position before = must(core_->journal->catch_up());
  StartChild other = command_;
  other.input = Payload::trusted(R"({"weight":4})");
  EXPECT_EQ(start(other)->code(), "conflicting_child_run");
  StartChild stale = command_;
  stale.child_key = "k2";
  stale.origin.attempt = 2;
  EXPECT_EQ(start(stale)->code(), "invalid_parent_context");
  StartChild nameless = command_;
  nameless.child_key = SharedText();
  EXPECT_EQ(start(nameless)->code(), "invalid_argument");
  EXPECT_EQ(must(core_->journal->catch_up()), before);
  finish(*core_, *worker_);
  StartChild late = command_;
  late.child_key = "k3";
  EXPECT_EQ(start(late)->code(), "invalid_parent_context") << "its step has ended";
}

TEST_F(ProtocolChild, a_parent_that_has_ended_starts_no_children) {
  core_->fail(proof_of(worker_->assignment()), failure());
  core_->settle();
  StartChild late = command_;
  late.child_key = "k4";
  EXPECT_EQ(start(late)->code(), "terminal_run");
}

TEST_F(ProtocolEngine, a_child_that_ends_continues_its_parent_in_the_same_commit) {
  TestCore& core = open();
  core.add(definition_of(kOneStep, "box"));
  core.start(start_of(1, definition_of(R"([{"name":"ship","child":"box"}])")));
  const auto worker = core.worker();
  core.settle();
  const Position before = must(core.journal->catch_up());
  finish(core, *worker);
  EXPECT_EQ(must(core.journal->catch_up()), before.next());
  EXPECT_THAT(stored(before.next()),
              ElementsAre("attempt_completed", "runnable_applied", "run_terminal",
                          "runnable_applied", "run_terminal"));
}

TEST_F(ProtocolEngine, only_the_hash_of_a_claim_token_is_stored) {
  SeededRandom random(7);
  const auto loop = must(Loop::open(open_memory_journal(disk_), clock_, random));
  must(loop->execute<Started>(
      [this](Turn& turn) { return start_run(turn, start_of(1, one_), IdOrigin::given); }));
  const auto worker = std::make_shared<ClaimRequest>();
  worker->skills = std::make_shared<const Skills>(Skills{{{SharedText(kDefaultQueue)}}, {}});
  worker->applicants = {loop->new_applicant(*worker->skills)};
  std::promise<Result<Assignment>> given;
  worker->assigned = [&](std::vector<Result<Assignment>> results) {
    given.set_value(std::move(results.front()));
  };
  loop->submit(worker);
  const Assignment held = must(given.get_future().get());
  loop->close();

  EXPECT_EQ(must(from_base64url(held.claim_id.view())).size(), 16U);
  EXPECT_EQ(must(from_base64url(held.token.view())).size(), 32U);
  std::string everything;
  for (const std::string& body : bodies_from(*open_memory_log(disk_), Position{1})) {
    everything += body;
  }
  EXPECT_THAT(everything, HasSubstr(R"("claim_id":")" + held.claim_id.str()));
  EXPECT_THAT(everything, HasSubstr(R"("claim_token_hash":")" + to_hex(sha256(held.token.view()))));
  EXPECT_THAT(everything, Not(HasSubstr(held.token.str())));
}

// Checks at each notification whether the intent is durable.
class CheckingNotifier final : public DispatchNotifier {
 public:
  explicit CheckingNotifier(std::shared_ptr<MemoryDisk> disk, bool works)
      : disk_(std::move(disk)), works_(works) {}

  Result<void> notify(const Wakeup& wakeup) override {
    std::string seen;
    for (const std::string& body : bodies_from(*open_memory_log(disk_), Position{1})) {
      seen += body;
    }
    intent_found.set_value(seen.find(R"("kind":"attempt_scheduled")") != std::string::npos &&
                           seen.find(wakeup.runnable_key.str()) != std::string::npos);
    return works_ ? Result<void>() : Error{ErrorCode::unavailable, "no listener"};
  }

  std::promise<bool> intent_found;

 private:
  std::shared_ptr<MemoryDisk> disk_;
  bool works_;
};

class ProtocolNotifier : public ProtocolEngine {
 protected:
  // Starts a run; returns whether the notifier found the intent.
  bool run_with(CheckingNotifier& notifier) {
    SeededRandom random(7);
    LoopOptions options;
    options.notifier = &notifier;
    options.record_wakeups = true;
    const auto loop = must(Loop::open(open_memory_journal(disk_), clock_, random, options));
    must(loop->execute<Started>(
        [this](Turn& turn) { return start_run(turn, start_of(1, one_), IdOrigin::given); }));
    auto found = notifier.intent_found.get_future();
    EXPECT_EQ(found.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    return found.get();
  }
};

TEST_F(ProtocolNotifier, is_notified_only_after_the_commit_that_scheduled_the_attempt) {
  CheckingNotifier notifier(disk_, true);
  EXPECT_TRUE(run_with(notifier));
}

TEST_F(ProtocolNotifier, that_fails_never_rolls_anything_back) {
  CheckingNotifier notifier(disk_, false);
  run_with(notifier);
  EXPECT_THAT(stored(), Not(::testing::Contains("live_wakeup_emitted")));
  TestCore& core = open();
  const auto worker = core.worker();
  core.settle();
  EXPECT_EQ(worker->code(), "ok");
}

// Executes a run with an engine on that journal; returns the stored kinds.
std::vector<std::string> kinds_of_a_run(Journal& journal, ManualClock& clock) {
  Definitions definitions(journal);
  Core core(journal, definitions, {});
  must(core.open());
  const auto turn_over = [&] {
    core.decide(clock.now());
    while (core.can_write()) {
      const Core::Write what = core.begin_write();
      core.end_write(journal.commit_at(what.expected_head, std::move(*what.commit)), clock.now());
      core.decide(clock.now());
    }
    for (const auto& effect : core.take_effects()) {
      effect();
    }
  };
  const auto definition = definition_of(kTwoSteps, "pair");
  core.post(std::make_shared<FunctionCommand<Started>>(
      [&](Turn& turn) { return start_run(turn, start_of(1, definition), IdOrigin::given); },
      [](const Result<Started>& result) { EXPECT_EQ(code_of(result), "ok"); }));
  for (int step = 0; step < 2; ++step) {
    const auto worker = std::make_shared<ClaimRequest>();
    worker->skills = std::make_shared<const Skills>(Skills{{{SharedText(kDefaultQueue)}}, {}});
    worker->applicants = {
        Applicant{Claimant{"c" + std::to_string(step), sha256("token"), "o", {}}, "token"}};
    std::optional<Assignment> given;
    worker->assigned = [&](std::vector<Result<Assignment>> results) {
      given = must(std::move(results.front()));
    };
    core.request_claim(worker);
    turn_over();
    core.post(std::make_shared<FunctionCommand<Done>>(
        [&](Turn& turn) -> Result<Done> {
          HOLDFAST_CHECK(complete_attempt(turn, proof_of(given.value()), completion()));
          return Done{};
        },
        [](const Result<Done>& result) { EXPECT_EQ(code_of(result), "ok"); }));
    turn_over();
  }
  EXPECT_EQ(core.state().runs().count(), 0U);
  return kinds_from(journal, Position{1});
}

TEST_F(ProtocolEngine, any_store_that_detects_conflicts_supports_the_protocol) {
  const TempDir dir;
  SeededRandom random(7);
  const auto sqlite =
      must(open_journal("sqlite:" + dir.file("a.db"), OpenMode::create, clock_, random));
  const auto memory = open_memory_journal(disk_);
  EXPECT_EQ(kinds_of_a_run(*sqlite, clock_), kinds_of_a_run(*memory, clock_));
  EXPECT_THAT(stored(), ::testing::Contains("run_terminal"));
}

}  // namespace
}  // namespace holdfast::protocol_engine_test

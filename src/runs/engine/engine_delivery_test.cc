// Windows that a scheduler outside of the engine delivers: each has one run, however often and to
// whichever engine it is delivered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/engine/schedule_delivery.h"
#include "tests/support/core_fixture.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_delivery_test {
namespace {

constexpr std::int64_t kEvery = 300'000;
// Every five minutes. The clock starts at 22:13:20, so 22:15 is 100 seconds away.
constexpr TimeMs kWindow = TimeMs{kStart.value + 100'000};

class Delivery : public CoreTest {
 protected:
  static std::shared_ptr<const Definition> workflow(
      const std::string& cron = R"("delivery":"external")", const std::string& version = "1") {
    return must(Definition::parse(
        R"({"workflow":"report","version":")" + version +
        R"(","steps":[{"name":"a"}],"triggers":[{"name":"hand"},{"name":"often","cron":)"
        R"({"expression":"*/5 * * * *","timezone":"UTC",)" +
        cron + "}}]}"));
  }
  TestCore& open_with(const std::shared_ptr<const Definition>& definition) {
    TestCore& core = open();
    const auto added = core.add(definition);
    core.settle();
    EXPECT_EQ(added->code(), "ok");
    return core;
  }
  static DeliverWindow window(std::int64_t ends_after = kEvery, const std::string& signal = "") {
    DeliverWindow command;
    command.workflow = "report";
    command.trigger = "often";
    command.delivered.signal_id = signal;
    command.delivered.window = ScheduleWindow{kWindow, after(kWindow, ends_after)};
    return command;
  }
  static std::shared_ptr<Answer<Delivered>> submit(TestCore& core, const DeliverWindow& command) {
    return core.execute<Delivered>([command](Turn& turn) { return deliver_window(turn, command); });
  }
  // The outcome, or the code of the refusal.
  static std::string deliver(TestCore& core, const DeliverWindow& command = window()) {
    const auto answer = submit(core, command);
    core.settle();
    return outcome(*answer);
  }
  static std::string outcome(const Answer<Delivered>& answer) {
    return answer.code() == "ok" ? std::string(to_text(answer.result->value().outcome))
                                 : answer.code();
  }
  std::size_t runs() { return audit(open_memory_journal(disk_)->log()).runs.size(); }
};

TEST_F(Delivery, of_the_same_window_finds_the_same_run) {
  TestCore& core = open_with(workflow());
  const auto first = submit(core, window());
  core.settle();
  const auto again = submit(core, window());
  core.settle();
  EXPECT_EQ(outcome(*first), "started");
  EXPECT_EQ(outcome(*again), "existing");
  EXPECT_EQ(first->result->value().run_id, again->result->value().run_id);
  EXPECT_EQ(deliver(core, window(2 * kEvery)), "started") << "it ends later, so it is another one";
  EXPECT_EQ(runs(), 2U);
}

TEST_F(Delivery, twice_in_one_turn_and_to_two_engines_starts_one_run) {
  TestCore& one = open_with(workflow());
  TestCore& other = open();
  other.settle();
  const auto first = submit(one, window());
  const auto second = submit(one, window());
  const auto third = submit(other, window());
  one.settle();
  other.settle();
  EXPECT_EQ(outcome(*first), "started");
  EXPECT_EQ(outcome(*second), "existing");
  EXPECT_EQ(outcome(*third), "existing");
  EXPECT_EQ(runs(), 1U);
}

TEST_F(Delivery, that_loses_the_race_finds_the_run_of_the_winner) {
  TestCore& one = open_with(workflow());
  TestCore& other = open();
  other.settle();
  one.hooks->before_append = [&]() -> Result<void> {
    EXPECT_EQ(deliver(other), "started");
    return {};
  };
  EXPECT_EQ(deliver(one), "existing");
  EXPECT_EQ(runs(), 1U);
}

TEST_F(Delivery, finds_the_run_after_a_restart_and_on_a_newer_definition) {
  EXPECT_EQ(deliver(open_with(workflow())), "started");
  cores_.clear();
  EXPECT_EQ(deliver(open_with(workflow(R"("delivery":"external")", "2"))), "existing");
  EXPECT_EQ(runs(), 1U);
}

TEST_F(Delivery, is_of_the_same_run_that_the_engine_starts_for_the_window) {
  TestCore& core = open_with(workflow(R"("delivery":"engine")"));
  EXPECT_EQ(deliver(core), "started");
  clock_.advance_ms(100'000);
  core.settle();
  EXPECT_EQ(runs(), 1U);
  clock_.advance_ms(kEvery);
  core.settle();
  EXPECT_EQ(runs(), 2U);
  DeliverWindow next = window();
  next.delivered.window = ScheduleWindow{after(kWindow, kEvery), after(kWindow, 2 * kEvery)};
  EXPECT_EQ(deliver(core, next), "existing");
}

TEST_F(Delivery, is_left_to_the_scheduler_by_an_external_trigger) {
  TestCore& core = open_with(workflow());
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
  clock_.advance_ms(3 * kEvery);
  core.settle();
  EXPECT_EQ(runs(), 0U);
}

TEST_F(Delivery, gives_the_run_its_schedule) {
  clock_.advance_ms(100'500);
  TestCore& core = open_with(workflow());
  DeliverWindow command = window();
  command.actor = "kubernetes";
  deliver(core, command);
  const Audit all = audit(open_memory_journal(disk_)->log());
  ASSERT_EQ(all.runs.size(), 1U);
  const RunProjection& run = *all.runs.begin()->second;
  const std::string signal = derived_signal_id("report", "often", *command.delivered.window);
  EXPECT_EQ(run.context().view(),
            R"({"schedule":{"workflow":"report","trigger_name":"often",)"
            R"("cron_expression":"*/5 * * * *","timezone":"UTC",)"
            R"("received_at":"2023-11-14T22:15:00.500Z","signal_id":")" +
                signal + R"(","idempotency":"return_existing_run","idempotency_key":")" + signal +
                R"(","intended_window":{"start_at":"2023-11-14T22:15:00.000Z",)"
                R"("end_at":"2023-11-14T22:20:00.000Z"}}})");
  const RunSignalReceived& received = run.receipts().front().signal;
  EXPECT_EQ(received.signal_type, SignalType::start_cron);
  EXPECT_EQ(received.source.view(), "scheduler");
  EXPECT_EQ(received.actor.view(), "kubernetes");
  EXPECT_EQ(received.signal_id.view(), signal);
}

TEST_F(Delivery, has_a_signal_id_that_every_program_can_compute) {
  EXPECT_EQ(derived_signal_id("report", "often", *window().delivered.window),
            "sha256:FJ_96CAKwD88xZ2JrdEO2wYRGovB2Pww7fAwMXNAW-w");
}

TEST_F(Delivery, under_a_signal_id_is_of_one_window) {
  TestCore& core = open_with(workflow());
  EXPECT_EQ(deliver(core, window(kEvery, "backup-311")), "started");
  EXPECT_EQ(deliver(core, window(kEvery, "backup-311")), "existing");
  EXPECT_EQ(deliver(core, window(2 * kEvery, "backup-311")), "idempotency_conflict");
  DeliverWindow bare = window(kEvery, "backup-311");
  bare.delivered.window.reset();
  EXPECT_EQ(deliver(core, bare), "existing");
  EXPECT_EQ(deliver(core, window(kEvery, "backup-312")), "started");
  EXPECT_EQ(runs(), 2U);
}

TEST_F(Delivery, is_skipped_when_duplicates_are) {
  TestCore& core = open_with(workflow(R"("delivery":"external","idempotency":"skip_duplicate")"));
  EXPECT_EQ(deliver(core), "started");
  EXPECT_EQ(deliver(core), "skipped");
  EXPECT_EQ(runs(), 1U);
}

TEST_F(Delivery, always_starts_a_run_without_idempotency) {
  TestCore& core = open_with(workflow(R"("delivery":"external","idempotency":"none")"));
  for (int number = 1; number <= 2; ++number) {
    DeliverWindow bare = window();
    bare.fresh = run_no(number);
    bare.delivered.window.reset();
    EXPECT_EQ(deliver(core, bare), "started");
  }
  EXPECT_EQ(runs(), 2U);
}

TEST_F(Delivery, to_a_paused_schedule_starts_nothing) {
  TestCore& core = open_with(workflow());
  EXPECT_EQ(deliver(core), "started");
  const auto change = [&](auto fact) {
    const auto changed = core.execute<Done>([fact](Turn& turn) -> Result<Done> {
      HOLDFAST_CHECK(turn.emit(fact));
      return Done{};
    });
    core.settle();
    EXPECT_EQ(changed->code(), "ok");
  };
  change(SchedulePaused{{"report", "often", "ann", "maintenance"}});
  EXPECT_EQ(deliver(core), "existing");
  EXPECT_EQ(deliver(core, window(2 * kEvery)), "paused");
  EXPECT_EQ(runs(), 1U);
  change(ScheduleResumed{{"report", "often", "ann", ""}});
  EXPECT_EQ(deliver(core, window(2 * kEvery)), "started");
}

TEST_F(Delivery, that_is_not_valid_is_refused) {
  TestCore& core = open_with(workflow());
  const auto refused = [&](const std::function<void(DeliverWindow&)>& change) {
    DeliverWindow command = window();
    change(command);
    return deliver(core, command);
  };
  EXPECT_EQ(refused([](auto& command) { command.workflow = "other"; }), "unknown_workflow");
  EXPECT_EQ(refused([](auto& command) { command.trigger = "never"; }), "invalid_trigger");
  EXPECT_EQ(refused([](auto& command) { command.trigger = "hand"; }), "invalid_trigger");
  EXPECT_EQ(refused([](auto& command) { command.delivered.window.reset(); }), "invalid_argument");
  EXPECT_EQ(refused([](auto& command) { command.delivered.window->end_at = kWindow; }),
            "invalid_argument");
  EXPECT_EQ(refused([](auto& command) { command.delivered.window->end_at = kStart; }),
            "invalid_argument");
  EXPECT_EQ(refused([](auto& command) { command.delivered.signal_id = std::string(256, 'x'); }),
            "invalid_argument");
  EXPECT_EQ(refused([](auto& command) { command.delivered.signal_id = "a\nb"; }),
            "invalid_argument");
  EXPECT_EQ(runs(), 0U);
}

}  // namespace
}  // namespace holdfast::engine_delivery_test

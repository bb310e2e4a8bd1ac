#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_events_test {
namespace {

class DecideEvents : public ::testing::Test {
 protected:
  DecideEvents() { test_.start(); }

  static SendEvent paid(std::string_view key = "k1") {
    SendEvent command;
    command.event = "paid";
    command.correlation = "order-7";
    command.payload = json(R"({"amount":5,"by":"card"})");
    command.source.idempotency_key = key;
    return command;
  }
  TestRun::Decision sending(const SendEvent& command) {
    return [this, command](RunProjection& run) {
      return decide_receive_event(run, command, test_.around, test_.now);
    };
  }
  RunFacts send(const SendEvent& command) { return test_.put(sending(command)); }
  template <typename Change>
  ResultCode code_with(Change change) {
    SendEvent command = paid("other");
    change(command);
    return code_of(test_.dry_run(sending(command)));
  }

  TestRun test_{R"([{"name":"wait","await_event":{"event":"paid","correlation":"order-7"}},)"
                R"({"name":"ship","after":["wait"]}])"};
};

TEST_F(DecideEvents, an_event_ends_the_wait_for_it) {
  EXPECT_EQ(test_.run->status(), RunStatus::paused);
  const RunFacts facts = send(paid());
  EXPECT_EQ(kinds(facts),
            Kinds({"run_signal_received", "external_event_received", "external_event_wait_resolved",
                   "runnable_applied", "runnables_planned"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::signal_run);
  EXPECT_EQ(test_.input("ship"), json(R"({"order":7,"amount":5,"by":"card"})"));
  EXPECT_EQ(test_.run->status(), RunStatus::running);
}

TEST(DecideEvent, ends_the_wait_that_was_opened_first_also_in_one_moment) {
  TestRun test(R"([{"name":"z","await_event":{"event":"e"}},)"
               R"({"name":"a","await_event":{"event":"e"}},)"
               R"({"name":"after_z","after":["z"]},{"name":"after_a","after":["a"]}])");
  test.start();
  SendEvent command;
  command.event = "e";
  command.source.idempotency_key = "k";
  const RunFacts facts = test.put([&](RunProjection& run) {
    return decide_receive_event(run, command, test.around, test.now);
  });
  EXPECT_EQ(the<ExternalEventWaitResolved>(facts).step, SharedText("z"));
}

TEST_F(DecideEvents, the_same_event_counts_once) {
  send(paid());
  EXPECT_TRUE(send(paid()).empty());
  SendEvent other = paid();
  other.payload = json(R"({"by":"card","amount":5})");
  EXPECT_TRUE(send(other).empty()) << "whatever the order of its members";
  other.payload = json(R"({"amount":6})");
  EXPECT_EQ(code_of(test_.dry_run(sending(other))), ErrorCode::idempotency_conflict);
  other = paid();
  other.correlation = "order-8";
  EXPECT_EQ(code_of(test_.dry_run(sending(other))), ErrorCode::idempotency_conflict);
  test_.cancel();
  EXPECT_TRUE(send(paid()).empty());
  EXPECT_EQ(code_of(test_.dry_run(sending(paid("k2")))), ErrorCode::terminal_run);
}

TEST_F(DecideEvents, an_event_that_nothing_waits_for_is_kept_once) {
  SendEvent other = paid();
  other.correlation = "order-8";
  EXPECT_EQ(kinds(send(other)), Kinds({"run_signal_received", "external_event_buffered"}));
  EXPECT_TRUE(send(other).empty());
  other.event = "shipped";
  EXPECT_EQ(code_of(test_.dry_run(sending(other))), ErrorCode::idempotency_conflict);
  EXPECT_EQ(test_.run->buffered_events().size(), 1U);
  EXPECT_EQ(test_.run->status(), RunStatus::paused);
}

TEST_F(DecideEvents, a_run_keeps_a_limited_number_of_events) {
  // What the fixture checks about each decision would take long with so many.
  RunProjection run(run_no(1));
  ASSERT_TRUE(decide_start(run, test_.start_command(), nothing_around(), test_.now).ok());
  const auto send_other = [&](std::size_t number) {
    SendEvent command = paid("e" + std::to_string(number));
    command.event = "other";
    return decide_receive_event(run, command, nothing_around(), test_.now);
  };
  for (std::size_t i = 0; i < kMaxBufferedEvents; ++i) {
    ASSERT_TRUE(send_other(i).ok());
  }
  EXPECT_EQ(code_of(send_other(kMaxBufferedEvents)), ErrorCode::too_large);
  EXPECT_TRUE(send_other(0).ok()) << "it is there already";
  EXPECT_TRUE(decide_receive_event(run, paid(), nothing_around(), test_.now).ok())
      << "a wait receives it";
}

TEST_F(DecideEvents, an_event_that_makes_no_sense_is_refused) {
  EXPECT_EQ(code_with([](SendEvent& event) { event.source.idempotency_key = {}; }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](SendEvent& event) { event.event = {}; }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](SendEvent& event) { event.event = std::string(256, 'e'); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](SendEvent& event) { event.correlation = std::string(1025, 'c'); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](SendEvent& event) { event.payload = json("[1]"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](SendEvent& event) {
              event.payload = json(R"({"a":")" + std::string(1U << 20U, 'x') + R"("})");
            }),
            ErrorCode::invalid_argument);
  RunProjection unknown(run_no(3));
  EXPECT_EQ(code_of(decide_receive_event(unknown, paid(), nothing_around(), test_.now)),
            ErrorCode::run_not_found);
}

TEST_F(DecideEvents, a_run_that_waits_for_an_event_cannot_be_resumed) {
  EXPECT_EQ(code_of(test_.dry_run(test_.resolving(ManualAction::resumed))),
            ErrorCode::invalid_transition);
}

}  // namespace
}  // namespace holdfast::run_decide_events_test

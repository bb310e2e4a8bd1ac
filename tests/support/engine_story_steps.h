// The part of the story that a current engine writes: steps that the engine executes itself, each
// left at a point where another process must continue.
#pragma once

#include <memory>
#include <string>

#include "tests/support/engine_support.h"

namespace holdfast {

inline Payload story_json(std::string_view text) { return Payload::trusted(text); }

class StepsStory {
 public:
  explicit StepsStory(const std::shared_ptr<MemoryDisk>& disk) : core_(disk, clock_) {}

  void write() {
    register_workflows();
    a_trip_that_compensates();
    an_event_that_came_early();
    an_event_that_never_came();
    a_night();
    a_list();
    a_loop();
    a_family();
    a_replay();
    core_.settle();
  }

 private:
  void register_workflows() {
    core_.add(definition_of(R"([{"name":"pack"}])", "box"));
    core_.add(must(Definition::parse(
        R"({"workflow":"nightly","steps":[{"name":"a"}],"triggers":[{"name":"night",)"
        R"("cron":{"expression":"0 3 * * *","timezone":"UTC","catch_up":"latest"}}]})")));
    core_.settle();
  }

  // The payment fails: no worker has claimed the reminder, so it is withdrawn, and the flight is
  // cancelled. The worker that cancels the hotel is lost.
  void a_trip_that_compensates() {
    start(20, R"([
        {"name":"hotel","output":"hotel","compensate":"cancel_hotel"},
        {"name":"flight","after":["hotel"],"timeout":{"start_to_close_ms":600000},
         "compensate":{"handler":"cancel_flight","lease_ms":60000}},
        {"name":"remind","after":["hotel"],"wait":{"for_ms":3600000}},
        {"name":"pay","after":["flight"],"irreversible":true}])",
          "trip");
    complete(take("hotel"), R"({"room":12})");
    complete(take("flight"), R"({"seat":"4c"})");
    fail(take("pay"));
    complete(take("cancel_flight"), "{}");
    take("cancel_hotel");
  }

  // The event arrives before the step that waits for it. Left at an approval with a deadline.
  void an_event_that_came_early() {
    start(21, R"([
        {"name":"order"},
        {"name":"pay","after":["order"],"output":"payment",
         "await_event":{"any_of":[{"event":"paid","correlation":{"path":"n"}},"waived"],
                        "timeout_ms":60000}},
        {"name":"check","after":["pay"],"approval":{"reason":"more than {n}"},
         "deadline":{"within_ms":5000}}])",
          "letter");
    send(21, "paid", "7", "bank-1");
    complete(take("order"), R"({"n":"7"})");
  }

  // The run fails when the wait times out.
  void an_event_that_never_came() {
    start(22, R"([{"name":"pay","await_event":{"event":"paid","timeout_ms":1000}}])", "silence");
    clock_.advance_ms(1000);
    core_.settle();
  }

  // One run sleeps past the following runs, one for much longer.
  void a_night() {
    start(23, R"([{"name":"say","log":"good night {name}"},
                  {"name":"sleep","after":["say"],"wait":{"for_ms":500000}}])",
          "nap");
    StartRun winter =
        command(24, definition_of(R"([{"name":"sleep","wait":{"for_ms":8000000000}}])", "winter"));
    winter.queue = "slow";
    core_.start(winter);
    core_.settle();
  }

  // Two of three items are in progress at once; one is completed.
  void a_list() {
    start(25, R"([{"name":"send","for_each":{"items":"to","as":"who","concurrency":2}}])", "mail",
          R"({"to":["ann","ben","cy"]})");
    complete(take("send"), R"({"sent":true})");
    take("send");
  }

  // The second visit is claimed.
  void a_loop() {
    const auto definition =
        must(Definition::parse(R"({"workflow":"poll","timeout_ms":7000000,"entry":"ask",)"
                               R"("steps":[{"name":"ask","output":"answer"}],)"
                               R"("transitions":[{"from":"ask","on":"ok","to":"ask",)"
                               R"("when":{"path":"answer.ready","equals":false}},)"
                               R"({"from":"ask","on":"ok","to":"complete"}]})"));
    core_.start(command(26, definition));
    core_.settle();
    complete(take("ask"), R"({"ready":false})");
    take("ask");
  }

  // The child is claimed, its parent waits for it.
  void a_family() {
    start(27, R"([{"name":"ship","child":"box"},{"name":"thank","after":["ship"]}])", "parcel");
    take("pack");
  }

  // Replayed from the second step, which is claimed again.
  void a_replay() {
    start(28, R"([{"name":"a"},{"name":"b","after":["a"]}])", "twice");
    complete(take("a"), R"({"x":1})");
    complete(take("b"), R"({"y":2})");
    core_.execute<Started>([](Turn& turn) -> Result<Started> {
      HOLDFAST_TRY(const RunProjection* source, turn.state().runs().get(run_no(28)));
      ReplayRun replay;
      replay.run_id = run_no(29);
      replay.from_step = "b";
      HOLDFAST_TRY(const StartRun again, plan_replay(*source, replay));
      return start_run(turn, again, IdOrigin::given);
    });
    core_.settle();
    take("b");
  }

  static StartRun command(int run, const std::shared_ptr<const Definition>& definition,
                          std::string_view input = "{}") {
    StartRun start = start_of(run, definition);
    start.input = story_json(input);
    return start;
  }
  void start(int run, std::string_view steps, std::string_view workflow,
             std::string_view input = "{}") {
    const auto started = core_.start(command(run, definition_of(steps, workflow), input));
    core_.settle();
    EXPECT_EQ(started->code(), "ok") << workflow;
  }
  void send(int run, std::string_view event, std::string_view correlation, std::string_view key) {
    SendEvent sent;
    sent.event = event;
    sent.correlation = correlation;
    sent.payload = story_json(R"({"sum":30})");
    sent.source.idempotency_key = key;
    const auto received = core_.send(run_no(run), sent);
    core_.settle();
    EXPECT_EQ(received->code(), "ok") << event;
  }
  // Claims an attempt like a worker that sends no heartbeats.
  Assignment take(std::string_view handler) {
    const auto worker = core_.worker({SharedText(handler)});
    core_.settle();
    const Assignment given = must(worker->given.value());
    core_.core.drop(given.claim_id);
    return given;
  }
  void complete(const Assignment& given, std::string_view result) {
    const auto done = core_.complete(proof_of(given), completion(result));
    core_.settle();
    EXPECT_EQ(done->code(), "ok") << given.step.view();
  }
  void fail(const Assignment& given) {
    const auto done = core_.fail(proof_of(given), failure());
    core_.settle();
    EXPECT_EQ(done->code(), "ok") << given.step.view();
  }

  ManualClock clock_{after(kStart, 20'000)};
  TestCore core_;
};

}  // namespace holdfast

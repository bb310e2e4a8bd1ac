// Every kind of fact in a timeline, and facts that break the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runs/view/timeline.h"
#include "tests/support/run_fact_samples.h"

namespace holdfast::timeline_facts_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Fact>
void feed(TimelineBuilder& builder, std::string_view thread, const Fact& fact, TimeMs at) {
  const auto entry = to_entry(fact, at);
  ASSERT_TRUE(entry.ok()) << entry.error().text();
  EntryView view;
  view.thread = thread;
  view.kind = entry.value().kind;
  view.at = at;
  view.data = entry.value().data.view();
  builder.add(view, Position{static_cast<std::uint64_t>(at.value)});
}

class TimelineFacts : public ::testing::Test {
 protected:
  void run(const RunFact& fact) { feed(builder_, run_thread(run_no(1)).text(), fact, ms(++at_)); }
  void queue(const DispatchFact& fact) { feed(builder_, "dispatch:default", fact, ms(++at_)); }
  std::string only_bar(std::int64_t now) {
    const Timeline timeline = builder_.timeline(ms(now));
    EXPECT_EQ(timeline.bars.size(), 1U);
    return timeline.bars.empty() ? "" : timeline.bars.front().status;
  }

  std::int64_t at_ = 0;
  TimelineBuilder builder_{run_no(1)};
};

TEST_F(TimelineFacts, every_fact_of_a_run_is_an_event_that_says_something) {
  std::vector<std::string> types;
  for (const RunFact& fact : every_run_fact()) {
    run(fact);
    const std::vector<TimelineEvent> events = builder_.take_events();
    ASSERT_EQ(events.size(), 1U) << kind_of(fact);
    EXPECT_FALSE(events.front().summary.empty()) << kind_of(fact);
    types.push_back(events.front().type);
  }
  EXPECT_EQ(types, std::vector<std::string>({"command_received",     "run_started",
                                             "timer_planned",        "runnable_applied",
                                             "child_run_started",    "manual_step_paused",
                                             "manual_step_resolved", "run_terminal",
                                             "graph_mutated",        "run_continued_to",
                                             "run_continued_from",   "event_wait_opened",
                                             "event_received",       "event_wait_timed_out",
                                             "event_wait_resolved",  "search_attributes_updated",
                                             "definition_migrated",  "run_archived",
                                             "run_unarchived",       "step_withdrawn",
                                             "event_buffered",       "compensation_started",
                                             "steps_adopted",        "dead_letter_resolved"}));
}

TEST_F(TimelineFacts, every_fact_of_a_queue_about_the_run_but_a_hint_is_an_event) {
  RunQueued queued{run_no(1), SharedText(kDefaultQueue)};
  const CircuitOpened opened{run_no(1), "k", kDefaultQueue, "w", "a", 5, ms(900), {}};
  const CircuitProbed probed{run_no(1), "k", "claim-1", kDefaultQueue, "w", "a"};
  const CircuitClosed closed{run_no(1), "k", kDefaultQueue, "w", "a"};
  const std::vector<DispatchFact> facts = {queued,
                                           scheduled("k"),
                                           claimed("k", 900),
                                           heartbeat("k", 950),
                                           completed("k"),
                                           failed("k"),
                                           wakeup("k"),
                                           opened,
                                           probed,
                                           closed,
                                           CircuitReset{kDefaultQueue, "w", "a", "ann", "fixed"}};
  ASSERT_EQ(facts.size(), std::variant_size_v<DispatchFact>);
  std::vector<std::string> types;
  for (const DispatchFact& fact : facts) {
    queue(fact);
  }
  for (const TimelineEvent& event : builder_.take_events()) {
    EXPECT_FALSE(event.summary.empty()) << event.type;
    types.push_back(event.type);
  }
  EXPECT_EQ(types,
            std::vector<std::string>({"run_queued", "attempt_scheduled", "attempt_claimed",
                                      "lease_extended", "attempt_completed", "attempt_failed",
                                      "circuit_opened", "circuit_probed", "circuit_closed"}));
}

TEST_F(TimelineFacts, nothing_that_proves_a_claim_or_names_an_event_is_shown) {
  for (const RunFact& fact : every_run_fact()) {
    run(fact);
  }
  queue(scheduled("k"));
  queue(claimed("k", 900));
  queue(heartbeat("k", 950));
  queue(completed("k"));
  queue(failed("k"));
  for (const TimelineEvent& event : builder_.take_events()) {
    const std::string text(to_json(event).view());
    EXPECT_THAT(text, Not(HasSubstr(to_hex(token("secret")))));
    EXPECT_THAT(text, Not(HasSubstr("claim_token_hash")));
    EXPECT_THAT(text, Not(HasSubstr("correlation"))) << event.type;
    EXPECT_THAT(text, Not(HasSubstr("idempotency_key"))) << event.type;
    EXPECT_THAT(text, Not(HasSubstr("definition_spec"))) << event.type;
  }
}

TEST_F(TimelineFacts, metadata_and_errors_are_redacted) {
  ManualStepPaused pause = paused("a");
  pause.metadata = json(R"({"deep":{"Password":"hush"}})");
  run(pause);
  AttemptFailed failure = failed("k");
  failure.error = json(R"({"api_key":"hush"})");
  queue(failure);
  for (const TimelineEvent& event : builder_.take_events()) {
    EXPECT_THAT(std::string(to_json(event).view()), Not(HasSubstr("hush")));
  }
}

TEST_F(TimelineFacts, a_command_names_the_event_and_not_its_correlation) {
  RunSignalReceived signal = run_signal(SignalType::signal_run);
  signal.payload = json(R"({"event":"paid","correlation":"c-77"})");
  run(signal);
  EXPECT_EQ(builder_.take_events().front().details,
            json(R"({"signal_type":"signal_run","payload":{"event":"paid"},"metadata":{}})"));
}

TEST_F(TimelineFacts, what_breaks_a_rule_of_the_queue_moves_no_bar) {
  queue(scheduled("k", 1));
  queue(claimed("k", 10, "c1"));
  queue(claimed("k", 999, "c2"));  // it is taken
  queue(completed("k", "c2"));     // by an owner that does not hold it
  EXPECT_EQ(only_bar(9), "running");
  at_ = 20;
  queue(heartbeat("k", 99, "c1"));  // too late
  queue(completed("k", "c1"));
  EXPECT_EQ(only_bar(30), "expired");
  EXPECT_EQ(builder_.take_events().size(), 6U) << "but each has an event";
}

TEST_F(TimelineFacts, a_failure_alone_schedules_the_next_attempt) {
  queue(scheduled("k", 1));
  queue(claimed("k", 100));
  queue(failed_with_retry("k", "k2", 50));
  const std::vector<TimelineBar> bars = builder_.timeline(ms(60)).bars;
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_EQ(bars[1].runnable_key, "k2");
  EXPECT_EQ(bars[1].step, "charge");
  EXPECT_EQ(bars[1].attempt, 2U);
  EXPECT_EQ(bars[1].status, "waiting");
}

TEST_F(TimelineFacts, a_completed_step_may_wait_for_a_decision) {
  run(run_signal());
  run(run_started());
  run(planned({runnable("a")}));
  run(applied_run("a#1"));
  run(paused("a"));
  std::vector<TimelineBar> bars = builder_.timeline(ms(20)).bars;
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_EQ(bars[0].status, "paused");
  EXPECT_EQ(bars[0].started_at, ms(5));
  EXPECT_EQ(bars[1].status, "completed");
  run(resolved("a"));
  EXPECT_EQ(builder_.timeline(ms(20)).bars[0].ended_at, ms(6));
  run(wait_opened("b"));
  run(wait_resolved(WaitAction::received, "b"));
  bars = builder_.timeline(ms(20)).bars;
  EXPECT_EQ(bars.back().step, "b");
  EXPECT_EQ(bars.back().status, "completed");
}

TEST_F(TimelineFacts, a_migration_moves_the_wait_to_the_step_of_the_new_definition) {
  run(paused("a", ManualKind::approval));
  run(migrated());
  const std::vector<TimelineBar> bars = builder_.timeline(ms(20)).bars;
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_EQ(bars[0].status, "withdrawn");
  EXPECT_EQ(bars[1].step, "b");
  EXPECT_EQ(bars[1].status, "paused");
}

TEST_F(TimelineFacts, entries_that_are_not_facts_of_the_run_are_left_out) {
  EntryView broken;
  broken.thread = "run:00000000-0000-0000-0000-000000000001";
  broken.kind = "run_started";
  broken.data = R"({"run_id":"00000000-0000-0000-0000-000000000001"})";
  builder_.add(broken, Position{1});
  feed(builder_, run_thread(run_no(2)).text(), RunFact(run_started()), ms(1));
  RunTerminal foreign = terminal();
  foreign.run_id = run_no(2);
  feed(builder_, run_thread(run_no(1)).text(), RunFact(foreign), ms(1));
  feed(builder_, "run_catalog:all", DispatchFact(scheduled("k")), ms(1));
  EXPECT_TRUE(builder_.take_events().empty());
  EXPECT_EQ(builder_.timeline(ms(1)).status, "new");
}

}  // namespace
}  // namespace holdfast::timeline_facts_test

// The decision tables of docs/protocol.md: exactly one verdict for each fact in each state. A fact
// is "accept"ed, is a "repeat" of a known fact, or breaks the named rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runs/dispatch/dispatch_projection.h"
#include "runs/run/run_rules.h"
#include "tests/support/run_fact_samples.h"

namespace holdfast::protocol_table_test {
namespace {

using Row = std::vector<std::string>;
using Table = std::vector<Row>;  // the first row and the first column are the headings

template <typename Verdict>
std::string text_of(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::accept:
      return "accept";
    case Verdict::Kind::repeat:
      return "repeat";
    case Verdict::Kind::refuse:
      return std::string(to_text(verdict.reason));
  }
  return "";
}

// The table below a heading of the document, without the quotes.
Table documented(const std::string& heading) {
  std::ifstream file(HOLDFAST_DOCS_FOLDER "/protocol.md");
  Table table;
  bool below = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) {
      below = line.substr(line.find(' ') + 1) == heading;
    } else if (below && line.starts_with('|') && !line.starts_with("|---")) {
      std::erase(line, '`');
      std::istringstream cells(line.substr(1));
      Row row;
      for (std::string cell; std::getline(cells, cell, '|');) {
        const std::size_t begin = cell.find_first_not_of(' ');
        row.push_back(begin == std::string::npos
                          ? ""
                          : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
      }
      table.push_back(row);
    }
  }
  return table;
}

void expect_equal(const Table& found, const Table& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i], expected[i]) << "row " << expected[i].front();
  }
}

// --- The queue: attempt k1, visible from 100, claimed by c1 from 100 to 200. ---

const Table kQueueTable = {
    {"Fact", "unknown", "available", "retry_scheduled", "claimed", "expired", "completed", "failed",
     "applied", "withdrawn", "run ended"},
    {"run_queued", "accept", "accept", "accept", "accept", "accept", "accept", "accept", "accept",
     "accept", "accept"},
    {"attempt_scheduled", "accept", "repeat", "repeat", "repeat", "repeat", "repeat", "repeat",
     "repeat", "repeat", "terminal_run"},
    {"attempt_claimed", "unknown_runnable_intent", "accept", "accept", "active_claim", "accept",
     "terminal_attempt", "terminal_attempt", "terminal_attempt", "terminal_attempt",
     "terminal_run"},
    {"attempt_heartbeat", "unknown_runnable_intent", "stale_claim", "stale_claim", "accept",
     "expired_claim", "stale_claim", "stale_claim", "stale_claim", "stale_claim", "terminal_run"},
    {"attempt_completed", "unknown_runnable_intent", "stale_claim", "stale_claim", "accept",
     "expired_claim", "repeat", "stale_claim", "repeat", "stale_claim", "terminal_run"},
    {"attempt_failed", "unknown_runnable_intent", "stale_claim", "stale_claim", "accept",
     "expired_claim", "stale_claim", "stale_claim", "stale_claim", "stale_claim", "terminal_run"},
    {"live_wakeup_emitted", "unknown_runnable_intent", "accept", "accept", "accept", "accept",
     "accept", "accept", "accept", "accept", "terminal_run"},
    {"circuit_opened", "unknown_runnable_intent", "malformed_entry", "malformed_entry",
     "malformed_entry", "malformed_entry", "malformed_entry", "malformed_entry", "malformed_entry",
     "malformed_entry", "terminal_run"},
    {"circuit_probed", "unknown_runnable_intent", "malformed_entry", "malformed_entry",
     "malformed_entry", "malformed_entry", "malformed_entry", "malformed_entry", "malformed_entry",
     "malformed_entry", "terminal_run"},
    {"circuit_closed", "unknown_runnable_intent", "malformed_entry", "malformed_entry",
     "malformed_entry", "malformed_entry", "malformed_entry", "malformed_entry", "malformed_entry",
     "malformed_entry", "terminal_run"},
    {"circuit_reset", "repeat", "repeat", "repeat", "repeat", "repeat", "repeat", "repeat",
     "repeat", "repeat", "repeat"},
    {"runnable_applied", "unknown_runnable_intent", "result_not_completed", "result_not_completed",
     "result_not_completed", "result_not_completed", "accept", "result_not_completed", "repeat",
     "repeat", "terminal_run"},
    {"runnables_withdrawn", "unknown_runnable_intent", "accept", "accept", "accept", "accept",
     "accept", "result_not_completed", "repeat", "repeat", "terminal_run"},
};

struct QueueState {
  std::string name;
  std::unique_ptr<DispatchProjection> queue;
  std::string key = "k1";
  std::int64_t at = 150;
};

QueueState queue_state(const std::string& name) {
  QueueState state{name, std::make_unique<DispatchProjection>(SharedText(kDefaultQueue))};
  DispatchProjection& queue = *state.queue;
  const auto take = [&](std::int64_t at, const DispatchFact& fact) { queue.evolve(ms(at), fact); };
  if (name == "unknown") {
    return state;
  }
  if (name == "retry_scheduled") {
    take(0, scheduled("k0"));
    take(100, claimed("k0", 200));
    take(110, failed_with_retry("k0", "k1", 120));
    return state;
  }
  take(0, scheduled("k1"));
  if (name != "available") {
    take(100, claimed("k1", 200));
  }
  if (name == "expired") {
    state.at = 200;
  } else if (name == "completed" || name == "applied") {
    take(120, completed("k1"));
  } else if (name == "failed") {
    take(120, failed("k1"));
  }
  if (name == "applied") {
    queue.evolve(ms(130), applied("k1"));
  } else if (name == "withdrawn") {
    queue.evolve(ms(130), ResultApplied{run_no(1), "k1", false, true});
  } else if (name == "run ended") {
    queue.end_run(run_no(1));
  }
  EXPECT_TRUE(queue.anomalies().empty()) << name;
  return state;
}

// The intent that was scheduled, so that it can only be a repeat.
AttemptScheduled same_intent(const QueueState& state) {
  AttemptScheduled fact = scheduled(state.key);
  if (const Attempt* attempt = state.queue->find(state.key)) {
    fact.idempotency_key = attempt->idempotency_key;
    fact.attempt_number = attempt->attempt_number;
    fact.visible_at = attempt->visible_at;
  }
  return fact;
}

CircuitOpened opened(std::string_view key) {
  return {run_no(1), key, kDefaultQueue, "pay", "charge", 2, ms(1000), {}};
}
CircuitProbed probed(std::string_view key, std::string_view claim) {
  return {run_no(1), key, claim, kDefaultQueue, "pay", "charge"};
}
CircuitClosed closed(std::string_view key) {
  return {run_no(1), key, kDefaultQueue, "pay", "charge"};
}
CircuitReset reset() { return {kDefaultQueue, "pay", "charge", "ann", "repaired"}; }

std::string queue_verdict(const std::string& kind, const QueueState& state) {
  const TimeMs at = ms(state.at);
  const DispatchProjection& queue = *state.queue;
  if (kind == ResultApplied::kKind) {
    return text_of(judge(queue, at, applied(state.key)));
  }
  if (kind == RunnablesWithdrawn::kKind) {
    return text_of(judge(queue, at, ResultApplied{run_no(1), SharedText(state.key), false, true}));
  }
  const std::vector<DispatchFact> facts{
      RunQueued{run_no(1), SharedText(kDefaultQueue)},
      same_intent(state),
      claimed(state.key, 900, "c2"),
      heartbeat(state.key, 900),
      completed(state.key),
      failed(state.key),
      wakeup(state.key),
      opened(state.key),
      probed(state.key, "c1"),
      closed(state.key),
      reset(),
  };
  EXPECT_EQ(facts.size(), std::variant_size_v<DispatchFact>);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    EXPECT_EQ(facts[i].index(), i) << "one fact of each kind";
    if (kind_of(facts[i]) == kind) {
      return std::visit([&](const auto& fact) { return text_of(judge(queue, at, fact)); },
                        facts[i]);
    }
  }
  return "no such fact";
}

TEST(ProtocolTable, every_fact_of_a_queue_has_one_verdict_in_every_state) {
  Table found{kQueueTable.front()};
  for (std::size_t i = 1; i < kQueueTable.size(); ++i) {
    Row row{kQueueTable[i].front()};
    for (std::size_t column = 1; column < kQueueTable.front().size(); ++column) {
      row.push_back(queue_verdict(row.front(), queue_state(kQueueTable.front()[column])));
    }
    found.push_back(row);
  }
  expect_equal(found, kQueueTable);
}

TEST(ProtocolTable, the_table_of_a_queue_has_every_fact_and_every_status) {
  Row kinds;
  [&kinds]<typename... Facts>(const std::variant<Facts...>* /*of*/) {
    (kinds.emplace_back(Facts::kKind), ...);
  }(static_cast<const DispatchFact*>(nullptr));
  for (const std::string& kind : kinds) {
    EXPECT_THAT(kQueueTable, testing::Contains(testing::Contains(kind)));
  }
  for (const std::string_view status : kEnumNames<AttemptStatus>) {
    EXPECT_THAT(kQueueTable.front(), testing::Contains(status));
  }
}

TEST(ProtocolTable, the_document_shows_the_table_of_a_queue) {
  expect_equal(documented("Decision table of a queue"), kQueueTable);
}

// --- The circuit breaker: it opens after two failures. ---

const Table kCircuitTable = {
    {"Fact", "closed, too few failures", "closed, enough failures", "open", "due", "probing",
     "completed while open", "closed again"},
    {"circuit_opened", "wrong_circuit_state", "accept", "repeat", "repeat", "wrong_circuit_state",
     "wrong_circuit_state", "wrong_circuit_state"},
    {"circuit_probed", "wrong_circuit_state", "wrong_circuit_state", "wrong_circuit_state",
     "accept", "repeat", "wrong_circuit_state", "wrong_circuit_state"},
    {"circuit_closed", "wrong_circuit_state", "wrong_circuit_state", "wrong_circuit_state",
     "wrong_circuit_state", "wrong_circuit_state", "accept", "repeat"},
    {"circuit_reset", "repeat", "repeat", "accept", "accept", "accept", "accept", "repeat"},
};

TEST(ProtocolTable, every_fact_of_a_circuit_breaker_has_one_verdict_in_every_state) {
  DispatchProjection queue{SharedText(kDefaultQueue)};
  Table found{
      {"Fact"}, {"circuit_opened"}, {"circuit_probed"}, {"circuit_closed"}, {"circuit_reset"}};
  const auto look = [&](const std::string& state, std::string_view failed_last,
                        std::string_view tried, std::int64_t at) {
    found[0].push_back(state);
    found[1].push_back(text_of(judge(queue, ms(at), opened(failed_last))));
    found[2].push_back(text_of(judge(queue, ms(at), probed(tried, "c1"))));
    found[3].push_back(text_of(judge(queue, ms(at), closed(tried))));
    found[4].push_back(text_of(judge(queue, ms(at), reset())));
  };
  const auto claim = [&](std::string_view key, std::int64_t at) {
    AttemptScheduled intent = scheduled(key, 0);
    intent.workflow = "pay";
    intent.policy.circuit = {2, 1000};
    queue.evolve(ms(0), intent);
    queue.evolve(ms(at), claimed(key, 9000));
  };
  claim("k1", 1);
  queue.evolve(ms(10), failed("k1"));
  look("closed, too few failures", "k1", "k1", 10);
  claim("k2", 10);
  queue.evolve(ms(20), failed("k2"));
  look("closed, enough failures", "k2", "k2", 20);
  queue.evolve(ms(20), opened("k2"));
  look("open", "k2", "k2", 999);
  claim("k3", 1000);
  look("due", "k2", "k3", 1000);
  queue.evolve(ms(1000), probed("k3", "c1"));
  look("probing", "k3", "k3", 1001);
  queue.evolve(ms(1010), completed("k3"));
  look("completed while open", "k3", "k3", 1010);
  queue.evolve(ms(1010), closed("k3"));
  look("closed again", "k3", "k3", 1010);
  EXPECT_TRUE(queue.anomalies().empty());
  expect_equal(found, kCircuitTable);
}

TEST(ProtocolTable, the_document_shows_the_table_of_a_circuit_breaker) {
  expect_equal(documented("Circuit breakers"), kCircuitTable);
}

// --- The run: steps a and b are planned; it waits at step a. ---

const Table kRunTable = {
    {"Fact", "new", "started", "running", "idle", "paused", "paused (event)", "parked",
     "compensating", "completed", "failed", "cancelled", "continued"},
    {"run_signal_received", "accept", "accept", "accept", "accept", "accept", "accept", "accept",
     "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"run_started", "accept", "repeat", "repeat", "repeat", "repeat", "repeat", "repeat", "repeat",
     "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"runnables_planned", "malformed_entry", "accept", "accept", "accept", "accept", "accept",
     "accept", "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"runnable_applied", "malformed_entry", "unknown_runnable_intent", "accept", "repeat", "accept",
     "accept", "accept", "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"child_run_started", "malformed_entry", "accept", "accept", "accept", "accept", "accept",
     "accept", "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"manual_step_paused", "malformed_entry", "accept", "accept", "accept", "repeat",
     "active_manual_step", "active_manual_step", "accept", "terminal_run", "terminal_run",
     "terminal_run", "terminal_run"},
    {"manual_step_resolved", "malformed_entry", "stale_manual_resolution",
     "stale_manual_resolution", "stale_manual_resolution", "accept", "stale_manual_resolution",
     "stale_manual_resolution", "stale_manual_resolution", "terminal_run", "terminal_run",
     "terminal_run", "terminal_run"},
    {"run_terminal", "malformed_entry", "accept", "accept", "accept", "accept", "accept", "accept",
     "accept", "repeat", "conflicting_terminal", "conflicting_terminal", "conflicting_terminal"},
    {"dynamic_graph_mutated", "malformed_entry", "accept", "accept", "accept", "accept", "accept",
     "accept", "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"run_continuation_requested", "malformed_entry", "accept", "accept", "accept", "accept",
     "accept", "accept", "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"run_continued_from", "malformed_entry", "accept", "accept", "accept", "accept", "accept",
     "accept", "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"external_event_wait_opened", "malformed_entry", "accept", "accept", "accept",
     "active_manual_step", "repeat", "active_manual_step", "accept", "terminal_run", "terminal_run",
     "terminal_run", "terminal_run"},
    {"external_event_received", "malformed_entry", "stale_event_wait", "stale_event_wait",
     "stale_event_wait", "stale_event_wait", "accept", "stale_event_wait", "stale_event_wait",
     "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"external_event_wait_timeout_selected", "malformed_entry", "stale_event_wait",
     "stale_event_wait", "stale_event_wait", "stale_event_wait", "accept", "stale_event_wait",
     "stale_event_wait", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"external_event_wait_resolved", "malformed_entry", "stale_event_wait", "stale_event_wait",
     "stale_event_wait", "stale_event_wait", "stale_event_wait", "stale_event_wait",
     "stale_event_wait", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"search_attributes_updated", "malformed_entry", "accept", "accept", "accept", "accept",
     "accept", "accept", "accept", "accept", "accept", "accept", "accept"},
    {"run_definition_migrated", "malformed_entry", "stale_definition_migration",
     "stale_definition_migration", "stale_definition_migration", "accept",
     "stale_definition_migration", "accept", "stale_definition_migration", "terminal_run",
     "terminal_run", "terminal_run", "terminal_run"},
    {"run_archived", "malformed_entry", "invalid_archive_transition", "invalid_archive_transition",
     "invalid_archive_transition", "invalid_archive_transition", "invalid_archive_transition",
     "invalid_archive_transition", "invalid_archive_transition", "accept", "accept", "accept",
     "accept"},
    {"run_unarchived", "malformed_entry", "invalid_archive_transition",
     "invalid_archive_transition", "invalid_archive_transition", "invalid_archive_transition",
     "invalid_archive_transition", "invalid_archive_transition", "invalid_archive_transition",
     "invalid_archive_transition", "invalid_archive_transition", "invalid_archive_transition",
     "invalid_archive_transition"},
    {"runnables_withdrawn", "malformed_entry", "unknown_runnable_intent", "accept", "repeat",
     "accept", "accept", "accept", "accept", "terminal_run", "terminal_run", "terminal_run",
     "terminal_run"},
    {"external_event_buffered", "malformed_entry", "accept", "accept", "accept", "accept", "accept",
     "accept", "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"compensation_started", "malformed_entry", "accept", "accept", "accept", "accept", "accept",
     "accept", "repeat", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"steps_adopted", "malformed_entry", "accept", "accept", "accept", "accept", "accept", "accept",
     "accept", "terminal_run", "terminal_run", "terminal_run", "terminal_run"},
    {"dead_letter_resolved", "malformed_entry", "stale_dead_letter", "stale_dead_letter",
     "stale_dead_letter", "stale_dead_letter", "stale_dead_letter", "stale_dead_letter",
     "stale_dead_letter", "stale_dead_letter", "accept", "stale_dead_letter", "stale_dead_letter"},
};

std::vector<RunFact> facts_before(const std::string& state) {
  if (state == "new") {
    return {};
  }
  std::vector<RunFact> facts{run_signal(), run_started()};
  if (state == "started") {
    return facts;
  }
  if (state == "paused" || state == "paused (event)") {
    facts.emplace_back(planned({runnable("a")}));
    facts.push_back(state == "paused" ? RunFact(paused("a")) : RunFact(wait_opened("a")));
    return facts;
  }
  if (state == "parked") {
    facts.emplace_back(planned({runnable("a")}));
    facts.emplace_back(parked("a"));
    return facts;
  }
  facts.emplace_back(planned({runnable("a"), runnable("b")}));
  if (state == "idle") {
    facts.emplace_back(applied_run("a#1"));
    facts.emplace_back(applied_run("b#1"));
  } else if (state == "compensating") {
    facts.emplace_back(compensation_started());
  } else if (const auto ended = enum_from<TerminalStatus>(state)) {
    RunTerminal end = terminal(*ended);
    if (*ended == TerminalStatus::failed) {
      end.exhausted = failed_by_attempt().exhausted;
    }
    facts.emplace_back(end);
  }
  return facts;
}

std::vector<RunFact> facts_to_check() {
  return {run_signal(),
          run_started(),
          planned({runnable("c")}),
          applied_run("a#1"),
          child_started(),
          paused("a"),
          resolved("a"),
          terminal(),
          mutated("m", 0, {node("n")}),
          continuation_requested(),
          continued_from(),
          wait_opened("a"),
          event_received(),
          timeout_selected(),
          wait_resolved(WaitAction::received),
          attributes_updated(R"({"a":1})", "k"),
          migrated(),
          archived(),
          unarchived(),
          withdrawn({"a#1"}),
          event_buffered(),
          compensation_started(),
          steps_adopted(),
          letter_resolved()};
}

TEST(ProtocolTable, every_fact_of_a_run_has_one_verdict_in_every_status) {
  Table found{kRunTable.front()};
  const std::vector<RunFact> facts = facts_to_check();
  ASSERT_EQ(facts.size(), std::variant_size_v<RunFact>);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    ASSERT_EQ(facts[i].index(), i) << "one fact of each kind";
    found.push_back({std::string(kind_of(facts[i]))});
  }
  for (std::size_t column = 1; column < kRunTable.front().size(); ++column) {
    const std::string& state = kRunTable.front()[column];
    RunProjection run(run_no(1));
    for (const RunFact& fact : facts_before(state)) {
      run.evolve(ms(100), fact);
    }
    EXPECT_TRUE(run.anomalies().empty()) << state;
    EXPECT_EQ(to_text(run.status()), state.substr(0, state.find(' ')));
    for (std::size_t i = 0; i < facts.size(); ++i) {
      found[i + 1].push_back(text_of(judge(run, ms(500), facts[i])));
    }
  }
  expect_equal(found, kRunTable);
}

TEST(ProtocolTable, the_table_of_a_run_has_every_status) {
  for (const std::string_view status : kEnumNames<RunStatus>) {
    EXPECT_THAT(kRunTable.front(), testing::Contains(status));
  }
}

TEST(ProtocolTable, the_document_shows_the_table_of_a_run) {
  expect_equal(documented("Decision table of a run"), kRunTable);
}

}  // namespace
}  // namespace holdfast::protocol_table_test

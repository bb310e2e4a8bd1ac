#include <optional>

#include "lab/sim/fault_injector.h"
#include "lab/sim/sim_value.h"
#include "lab/sim/simulation.h"
#include "storage/log/open_store.h"

namespace holdfast::sim {

namespace {

struct Stored {
  std::string thread;
  std::string kind;
  TimeMs at;
  Value data;
};

std::vector<Stored> stored_facts(const MemoryDisk& disk) {
  std::vector<Stored> facts;
  for (const auto& [position, row] : disk.rows) {
    BodyScanner scanner(position, row.body);
    for (auto entry = scanner.next(); entry.ok() && entry.value().has_value();
         entry = scanner.next()) {
      const EntryView& view = *entry.value();
      if (view.thread.starts_with("run:") || view.thread.starts_with("dispatch:")) {
        facts.push_back(
            {std::string(view.thread), std::string(view.kind), view.at, Value::parse(view.data)});
      }
    }
  }
  return facts;
}

// The members of one fact, some of them replaced by those of another.
Value mixed(const Value& one, const Value& other, const Dice& dice) {
  Value mix = one;
  for (const auto& [name, value] : other.members()) {
    if (dice.chance(30, name)) {
      mix.set(name, value);
    }
  }
  return mix;
}

Stored altered(const std::vector<Stored>& facts, const Dice& dice) {
  Stored fact = facts[dice.below(facts.size(), "fact")];
  const Stored& other = facts[dice.below(facts.size(), "other")];
  switch (dice.below(8, "how")) {
    case 0:
      break;  // an exact copy
    case 1:
      fact.data = Value::object();
      break;
    case 2:
      fact.kind = "made_up";
      break;
    case 3:
      fact.data.set("run_id", other.data["run_id"]);
      break;
    case 4:
      fact.data.set("claim_id", "somebody");
      fact.data.set("owner_id", "else");
      break;
    case 5:
      fact.data.set("result", "other");
      fact.data.set("status", "failed");
      fact.data.set("input", Value::object());
      break;
    default:
      for (const Stored& same : facts) {
        if (same.kind == fact.kind && dice.chance(40, same.data.text())) {
          fact.data = mixed(fact.data, same.data, dice);
        }
      }
  }
  if (dice.chance(30, "when")) {
    fact.at.value += static_cast<std::int64_t>(dice.below(200'000, "shift")) - 100'000;
  }
  return fact;
}

// Facts that no current engine writes, or that violate the rules.
struct Recipe {
  const char* kind;
  bool dispatch;
  const char* data;
};
constexpr Recipe kRecipes[] = {
    {"live_wakeup_emitted", true, "{}"},
    {"run_continuation_requested", false, R"({"definition":"current","trigger":"manual"})"},
    {"runnable_applied", false, R"({"runnable_key":"nowhere","result":{}})"},
    {"dynamic_graph_mutated", false,
     R"({"additions":[{"kind":"node","id":"x","handler":"h"}],)"
     R"("expected_version":0,"result_version":1})"},
    {"dynamic_graph_mutated", false,
     R"({"additions":[{"kind":"node","id":"y","handler":"h"}],)"
     R"("expected_version":3,"result_version":4})"},
    {"dynamic_graph_mutated", false,
     R"({"additions":[{"kind":"node","id":"z"}],"expected_version":0,"result_version":2})"},
    {"dynamic_graph_mutated", false,
     R"({"additions":[{"kind":"edge","id":"z"}],"expected_version":0,"result_version":1,)"
     R"("runnable_intent_fingerprints":{"x":"0000"}})"},
    {"run_definition_migrated", false,
     R"({"source_version":"1","target_version":"2","context":{},)"
     R"("manual_state":{"step":"s0","kind":"approval","paused_at":1}})"},
    {"manual_step_paused", false, R"({"kind":"approval","paused_at":1})"},
    {"manual_step_resolved", false, R"({"action":"approved","result":{}})"},
    {"run_archived", false, R"({"reason":"old"})"},
    {"run_unarchived", false, "{}"},
    {"dead_letter_resolved", false, R"({"action":"discarded"})"},
    {"search_attributes_updated", false, R"({"changes":{"a":1},"fingerprint":"x"})"},
    {"compensation_started", false, R"({"outcome":"failed"})"},
    {"compensation_started", false, R"({"outcome":"cancelled"})"},
    {"external_event_wait_resolved", false, R"({"event":"e","action":"received","result":{}})"},
    {"child_run_started", false,
     R"({"child_workflow":"inner","child_trigger":"manual","on_parent_close":"detach",)"
     R"("child_run_id":"00000000-0000-7000-8000-00000000000c"})"},
};

// There are only a few keys, so that some facts repeat or contradict each other.
Stored invented(const std::vector<Stored>& facts, const std::string& focus, const Dice& dice) {
  const Recipe& recipe = kRecipes[dice.below(std::size(kRecipes), "recipe")];
  const Stored& other = facts[dice.below(facts.size(), "of")];
  const std::string run =
      !focus.empty() && dice.chance(80, "focus") ? focus : other.data["run_id"].string();
  const std::string number = std::to_string(dice.below(2, "which"));
  Stored fact{recipe.dispatch ? "dispatch:default" : "run:" + run, recipe.kind, other.at,
              Value::parse(recipe.data)};
  Value origin = Value::object();
  const std::string key = other.data["runnable_key"].string();
  origin.set("runnable_key", key.empty() ? run + ":s0:1" : key);
  origin.set("step", "s0");
  origin.set("attempt", std::int64_t{1});
  const std::string id = "00000000-0000-7000-8000-00000000000" + number;
  for (const auto& [name, value] :
       Value::Object{{"run_id", Value(run)},
                     {"runnable_key", origin["runnable_key"]},
                     {"queue", Value("default")},
                     {"workflow", Value("flow0")},
                     {"successor_run_id", Value(id)},
                     {"child_run_id", Value(id)},
                     {"child_key", Value("k" + number)},
                     {"continuation_key", Value("c" + number)},
                     {"input", number == "0" ? Value::object() : Value::parse(R"({"n":1})")},
                     {"definition_fingerprint", Value("f")},
                     {"origin", origin},
                     {"mutation_id", Value("m" + number)},
                     {"migration_key", Value("g" + number)},
                     {"source_fingerprint", Value("f" + number)},
                     {"target_fingerprint", Value("t")},
                     {"idempotency_key", Value("i" + number)},
                     {"wait_id", origin["runnable_key"]},
                     {"step", Value("s" + number)}}) {
    if (!fact.data.has(name)) {
      fact.data.set(name, value);
    }
  }
  return fact;
}

// A node of a graph that was never mutated.
Stored unintended(const std::string& run) {
  Value node = Value::parse(
      R"({"runnable_key":"odd","idempotency_key":"odd","attempt_number":1,"queue":"default",)"
      R"("step":"odd","input":{},"visible_at":1,"handler":"h",)"
      R"("graph_mutation":{"mutation_id":"m","node_id":"n","intent_fingerprint":"f"}})");
  node.set("run_id", run);
  Stored fact{"run:" + run, "runnables_planned", TimeMs{SimClock::kBegin}, Value::object()};
  fact.data.set("run_id", run);
  fact.data.set("runnables", Value::List{node});
  return fact;
}

// Later facts of the run have no effect, so this one comes late.
Stored ended(const std::string& run, const Dice& dice) {
  Stored fact{"run:" + run, "run_terminal", TimeMs{SimClock::kBegin}, Value::object()};
  fact.data.set("run_id", run);
  fact.data.set("status", dice.chance(50, "status") ? "failed" : "completed");
  return fact;
}

// Most invented facts are about this live run.
std::string focus_of(const Simulation& simulation, const Dice& dice) {
  std::string focus;
  for (const auto& [id, run] : simulation.audit().runs) {
    if (!run->is_terminal() && (focus.empty() || dice.chance(40, to_string(id)))) {
      focus = to_string(id);
    }
  }
  return focus;
}

// Moves a paused run to another definition; two of these facts with the same key may name different
// definitions.
std::optional<Stored> migrated(const Simulation& simulation, const Dice& dice) {
  for (const auto& [id, run] : simulation.audit().runs) {
    if (run->is_terminal() || (run->boundaries().size() != 1 && run->migrations().empty())) {
      continue;
    }
    const PinnedDefinition pinned = run->pinned_definition();
    Stored fact{"run:" + to_string(id), "run_definition_migrated", run->started_at(),
                Value::parse(R"({"migration_key":"g","target_version":"2","context":{},)"
                             R"("manual_state":{"step":"s0","kind":"approval","paused_at":1}})")};
    fact.data.set("run_id", to_string(id));
    fact.data.set("source_version", pinned.version.str());
    fact.data.set("source_fingerprint", pinned.fingerprint.str());
    fact.data.set("target_fingerprint", dice.chance(50, "target") ? "t1" : "t2");
    return fact;
  }
  return std::nullopt;
}

// Claims and heartbeats at the wrong time, and applied results of attempts that are not completed.
// Everything else about them is correct.
std::optional<Stored> mistimed(const Simulation& simulation, const Dice& dice) {
  for (const auto& [name, queue] : simulation.audit().queues) {
    for (const Attempt* attempt : queue->attempts()) {
      Stored fact{"dispatch:" + name.str(), "attempt_claimed", attempt->visible_at,
                  Value::object()};
      fact.data.set("run_id", to_string(attempt->run_id));
      fact.data.set("runnable_key", attempt->runnable_key.str());
      fact.data.set("queue", name.str());
      if (attempt->ended() || attempt->applied || !dice.chance(50, attempt->runnable_key.view())) {
        continue;
      }
      if (dice.chance(30, "applied")) {
        fact.thread = "run:" + to_string(attempt->run_id);
        fact.kind = "runnable_applied";
        return fact;
      }
      fact.data.set("owner_id", "somebody");
      if (attempt->status == AttemptStatus::claimed) {
        fact.kind = "attempt_heartbeat";
        fact.at = attempt->claim->lease_until;
        fact.data.set("claim_id", attempt->claim->claim_id.str());
        fact.data.set("claim_token_hash", to_hex(attempt->claim->token_hash));
      } else {
        fact.at.value -= 1;
        fact.data.set("claim_id", "early");
        fact.data.set("claim_token_hash", to_hex(sha256("early")));
      }
      fact.data.set("lease_until", fact.at.value + 60'000);
      return fact;
    }
  }
  return std::nullopt;
}

Result<void> append(Simulation& simulation, const Stored& fact) {
  HOLDFAST_TRY(const auto journal, open_disk(simulation.shared_disk(), OpenMode::write));
  HOLDFAST_TRY(const ThreadId thread, ThreadId::parse(fact.thread));
  HOLDFAST_TRY(const JsonText data, JsonText::parse(fact.data.text()));
  HOLDFAST_CHECK(journal->append(thread, {NewEntry{fact.kind, fact.at, data}}));
  const auto& row = simulation.disk().rows.rbegin()->second;
  simulation.add_foreign_batch(RowView{row.position, row.body, row.body_hash, row.chain});
  return {};
}

}  // namespace

bool store_foreign_facts(Simulation& simulation, const Dice& dice) {
  const std::vector<Stored> facts = stored_facts(simulation.disk());
  if (facts.empty()) {
    return false;
  }
  const std::string focus = focus_of(simulation, dice);
  const std::uint64_t count = 1 + dice.below(40, "count");
  for (std::uint64_t i = 0; i < count; ++i) {
    const Dice own = dice.about("fact", i);
    Stored fact = own.chance(60, "made up") ? invented(facts, focus, own) : altered(facts, own);
    if (own.chance(15, "mistimed")) {
      fact = mistimed(simulation, own).value_or(fact);
    } else if (own.chance(10, "migrated")) {
      fact = migrated(simulation, own).value_or(fact);
    } else if (!focus.empty() && own.chance(4, "unintended")) {
      fact = unintended(focus);
    } else if (i > 25 && !focus.empty() && own.chance(20, "ends")) {
      fact = ended(focus, own);
    }
    const Result<void> stored = append(simulation, fact);
    simulation.note("foreign writer stores " + fact.kind + " in " + fact.thread + ": " +
                    fact.data.text() +
                    (stored.ok() ? "" : " (refused: " + stored.error().text() + ")"));
  }
  return true;
}

}  // namespace holdfast::sim

#include "runs/inspect/stored_run.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "runs/run/run_effects.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

namespace {

constexpr std::string_view kDispatchPrefix = "dispatch:";

// The batches that hold facts about a run: those of the queues end with it.
struct Span {
  Position first;
  Position last;
};

struct Thread {
  StoredRun stored;
  Span span;
};

Result<void> attach_definition(Definitions& definitions, RunProjection& run) {
  const SharedText fingerprint = run.pinned_definition().fingerprint;
  if (fingerprint.empty()) {
    return {};
  }
  auto definition = definitions.pinned(fingerprint);
  if (definition.ok()) {
    run.attach(std::move(definition).value());
    return {};
  }
  return definition.error().code() == ErrorCode::unknown_workflow
             ? Result<void>()
             : Result<void>(std::move(definition).error());
}

Result<Thread> read_thread(Journal& journal, Definitions& definitions, const RunId& id,
                           Position last) {
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(id)));
  if (entries.empty() || entries.front().position > last) {
    return Error{ErrorCode::run_not_found,
                 fmt::format("there {} no run {}{}", entries.empty() ? "is" : "was", to_string(id),
                             entries.empty() ? "" : " yet")}
        .with("run_id", to_string(id));
  }
  Thread thread;
  thread.stored.run = std::make_unique<RunProjection>(id);
  thread.span = {entries.front().position, last};
  RunProjection& run = *thread.stored.run;
  for (const Entry& entry : entries) {
    if (entry.position > last) {
      break;
    }
    const bool was_open = !run.is_terminal();
    run.fold(entry);
    if (was_open && run.is_terminal()) {
      thread.span.last = entry.position;
    }
  }
  HOLDFAST_CHECK(attach_definition(definitions, run));
  return thread;
}

// A circuit breaker follows from the attempts of all runs, which are not read here.
bool is_about_circuit(const DispatchFact& fact) {
  return std::holds_alternative<CircuitOpened>(fact) ||
         std::holds_alternative<CircuitProbed>(fact) || std::holds_alternative<CircuitClosed>(fact);
}

void fold_dispatch(StoredRun& stored, const EntryView& entry) {
  const auto fact = dispatch_fact(entry.kind, entry.data);
  const bool about_it = fact.ok() && is_about(fact.value(), stored.run->run_id());
  if (!about_it || is_about_circuit(fact.value())) {
    return;
  }
  const SharedText name(entry.thread.substr(kDispatchPrefix.size()));
  auto& queue = stored.queues[name];
  if (queue == nullptr) {
    queue = std::make_unique<DispatchProjection>(name);
  }
  queue->evolve(entry.at, fact.value());
}

// What the run's facts mean for its attempts.
class CloseAttempts : public RunEffects {
 public:
  CloseAttempts(StoredRun& stored, TimeMs at) : stored_(stored), at_(at) {}

  void attempt_closed(const ResultApplied& closed) {
    for (const auto& [name, queue] : stored_.queues) {
      close_attempt(*queue, at_, closed);
    }
  }
  void ended(const RunTerminal& /*fact*/) {
    for (const auto& [name, queue] : stored_.queues) {
      queue->end_run(stored_.run->run_id());
    }
  }

 private:
  StoredRun& stored_;
  TimeMs at_;
};

void fold_run(StoredRun& stored, const EntryView& entry) {
  const auto fact = run_fact(entry.kind, entry.data);
  if (fact.ok()) {
    CloseAttempts close(stored, entry.at);
    visit_effects(fact.value(), close);
  }
}

Result<void> scan_span(Journal& journal, const RunId& id, const Span& span, const TakeEntry& take) {
  History history(journal.log(), span.first);
  while (history.next_position() <= span.last) {
    HOLDFAST_TRY(const auto batches, history.next());
    if (batches.empty()) {
      break;
    }
    for (const Batch& batch : batches) {
      if (batch.position <= span.last) {
        HOLDFAST_CHECK(read_run_entries(batch, id, take));
      }
    }
  }
  return {};
}

}  // namespace

Result<void> read_run_entries(const Batch& batch, const RunId& id, const TakeEntry& take) {
  const std::string text = to_string(id);
  if (batch.body.find(text) == std::string::npos) {
    return {};
  }
  const std::string thread = "run:" + text;
  BodyScanner scanner(batch.position, batch.body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      return {};
    }
    const bool dispatch = entry->thread.starts_with(kDispatchPrefix) &&
                          entry->data.find(text) != std::string_view::npos;
    if (entry->thread == thread || dispatch) {
      take(*entry, batch.position);
    }
  }
}

void StoredRun::take(const EntryView& entry) {
  if (entry.thread.starts_with(kDispatchPrefix)) {
    fold_dispatch(*this, entry);
  } else {
    run->fold(entry);
    fold_run(*this, entry);
  }
}

RunSource StoredRun::source(Position position, TimeMs now) const {
  RunSource source{run.get(), {}, position, now};
  for (const auto& [name, queue] : queues) {
    source.queues.push_back(queue.get());
  }
  return source;
}

namespace {

Result<StoredRun> read_run(Journal& journal, Definitions& definitions, const RunId& id,
                           Position last) {
  HOLDFAST_TRY(Thread thread, read_thread(journal, definitions, id, last));
  const std::string name = "run:" + to_string(id);
  HOLDFAST_CHECK(scan_span(journal, id, thread.span, [&](const EntryView& entry, Position) {
    if (entry.thread == name) {
      fold_run(thread.stored, entry);
    } else {
      fold_dispatch(thread.stored, entry);
    }
  }));
  return std::move(thread.stored);
}

}  // namespace

Result<StoredRun> read_stored_run(Journal& journal, const RunId& id, Position last) {
  Definitions definitions(journal);
  return read_run(journal, definitions, id, last);
}

Result<const StoredRun*> StoredRuns::read_anew(const RunId& id, Position last) {
  known_.erase(id);
  HOLDFAST_TRY(StoredRun stored, read_run(journal_, definitions_, id, last));
  const auto known = known_.emplace(id, Known{std::move(stored), last}).first;
  return &known->second.stored;
}

// The definition is attached after the facts, as when all of them are read.
Result<void> StoredRuns::catch_up(const RunId& id, Known& known, Position last) {
  RunProjection& run = *known.stored.run;
  run.attach(nullptr);
  HOLDFAST_CHECK(scan_span(journal_, id, {known.last.next(), last},
                           [&](const EntryView& entry, Position) { known.stored.take(entry); }));
  known.last = last;
  return attach_definition(definitions_, run);
}

Result<const StoredRun*> StoredRuns::read(const RunId& id, Position last) {
  const auto found = known_.find(id);
  if (found == known_.end() || found->second.last > last) {
    return read_anew(id, last);
  }
  Known& known = found->second;
  if (known.last < last) {
    if (!known.stored.run->is_terminal()) {
      if (auto caught_up = catch_up(id, known, last); !caught_up.ok()) {
        known_.erase(found);
        return std::move(caught_up).error();
      }
    }
    // What queues say after the end of a run is not part of it.
    if (known.stored.run->is_terminal()) {
      return read_anew(id, last);
    }
  }
  return &known.stored;
}

Result<void> read_run_entries(Journal& journal, const RunId& id, Position last,
                              const TakeEntry& take) {
  Definitions definitions(journal);
  HOLDFAST_TRY(const Thread thread, read_thread(journal, definitions, id, last));
  HOLDFAST_CHECK(scan_span(journal, id, thread.span, take));
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(id)));
  for (const Entry& entry : entries) {
    if (entry.position > thread.span.last && entry.position <= last) {
      take(entry, entry.position);
    }
  }
  return {};
}

FindDefinition definitions_of(Journal& journal) {
  const auto definitions = std::make_shared<Definitions>(journal);
  return [definitions](const SharedText& fingerprint) -> std::shared_ptr<const Definition> {
    auto found = definitions->pinned(fingerprint);
    return found.ok() ? std::move(found).value() : nullptr;
  };
}

// One run as the journal grows.
RunFollower::RunFollower(Journal& journal, const RunId& run, Position from)
    : journal_(journal),
      history_(journal.log(), from.next()),
      position_(from),
      events_(run, definitions_of(journal)) {
  stored_.run = std::make_unique<RunProjection>(run);
}

Result<bool> RunFollower::catch_up() {
  HOLDFAST_TRY(const Position head, journal_.catch_up());
  bool came = false;
  while (position_ < head) {
    HOLDFAST_TRY(const auto batches, history_.next());
    HOLDFAST_ASSERT(!batches.empty());
    for (const Batch& batch : batches) {
      HOLDFAST_CHECK(read_run_entries(batch, stored_.run->run_id(),
                                      [&](const EntryView& entry, Position position) {
                                        stored_.take(entry);
                                        events_.add(entry, position);
                                        came = true;
                                      }));
      position_ = batch.position;
    }
  }
  if (came && stored_.run->definition() == nullptr && stored_.run->started().has_value()) {
    Definitions definitions(journal_);
    HOLDFAST_CHECK(attach_definition(definitions, *stored_.run));
  }
  return came;
}

}  // namespace holdfast

#include "engine/stored_run.h"

#include <optional>
#include <string>

#include "engine/definitions.h"
#include "journal/history.h"

namespace holdfast {

namespace {

constexpr std::string_view kDispatchPrefix = "dispatch:";

// The batches that may hold facts about a run.
struct Span {
  Position first;
  Position last;
};

struct Thread {
  StoredRun stored;
  Span span;
};

Result<Thread> read_thread(Journal& journal, const RunId& id) {
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(id)));
  if (entries.empty()) {
    return Error{ErrorCode::run_not_found, "there is no run " + to_string(id)}.with("run_id",
                                                                                    to_string(id));
  }
  Thread thread;
  thread.stored.run = std::make_unique<RunProjection>(id);
  thread.stored.position = entries.back().position;
  thread.span.first = entries.front().position;
  thread.span.last = entries.back().position;
  RunProjection& run = *thread.stored.run;
  for (const Entry& entry : entries) {
    const bool was_open = !run.is_terminal();
    run.fold(entry);
    if (was_open && run.is_terminal()) {
      thread.span.last = entry.position;
    }
  }
  const SharedText fingerprint = run.pinned_definition().fingerprint;
  if (!fingerprint.empty()) {
    Definitions definitions(journal);
    auto definition = definitions.pinned(fingerprint);
    if (definition.ok()) {
      run.attach(std::move(definition).value());
    } else if (definition.error().code() != ErrorCode::unknown_workflow) {
      return std::move(definition).error();
    }
  }
  return thread;
}

void fold_dispatch(StoredRun& stored, const EntryView& entry) {
  const auto fact = dispatch_fact(entry.kind, entry.data);
  const RunId& id = stored.run->run_id();
  const bool about_it =
      fact.ok() && std::visit([&](const auto& known) { return known.run_id == id; }, fact.value());
  if (!about_it) {
    return;
  }
  const SharedText name(entry.thread.substr(kDispatchPrefix.size()));
  auto& queue = stored.queues[name];
  if (queue == nullptr) {
    queue = std::make_unique<DispatchProjection>(name);
  }
  queue->evolve(entry.at, fact.value());
}

void fold_run(StoredRun& stored, const EntryView& entry) {
  const auto fact = run_fact(entry.kind, entry.data);
  if (!fact.ok()) {
    return;
  }
  const auto* applied = std::get_if<RunnableApplied>(&fact.value());
  if (applied == nullptr) {
    return;
  }
  for (const auto& [name, queue] : stored.queues) {
    if (queue->find(applied->runnable_key.view()) != nullptr) {
      queue->evolve(entry.at, ResultApplied{applied->run_id, applied->runnable_key,
                                            !applied->transition.empty()});
    }
  }
}

Result<void> fold_batch(StoredRun& stored, const Batch& batch, std::string_view thread,
                        std::string_view id) {
  if (batch.body.find(id) == std::string::npos) {
    return {};
  }
  BodyScanner scanner(batch.position, batch.body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      return {};
    }
    if (entry->thread == thread) {
      fold_run(stored, *entry);
    } else if (entry->thread.starts_with(kDispatchPrefix) &&
               entry->data.find(id) != std::string_view::npos) {
      fold_dispatch(stored, *entry);
    }
  }
}

}  // namespace

Result<StoredRun> read_run_thread(Journal& journal, const RunId& id) {
  HOLDFAST_TRY(Thread thread, read_thread(journal, id));
  return std::move(thread.stored);
}

Result<StoredRun> read_stored_run(Journal& journal, const RunId& id) {
  HOLDFAST_TRY(Thread thread, read_thread(journal, id));
  const std::string name = "run:" + to_string(id);
  const std::string text = to_string(id);
  History history(journal.log(), thread.span.first);
  while (history.next_position() <= thread.span.last) {
    HOLDFAST_TRY(const auto batches, history.next());
    if (batches.empty()) {
      break;
    }
    for (const Batch& batch : batches) {
      if (batch.position <= thread.span.last) {
        HOLDFAST_CHECK(fold_batch(thread.stored, batch, name, text));
      }
    }
  }
  return std::move(thread.stored);
}

}  // namespace holdfast

// The reader of one entry, as stored in a sealed segment, and of its fact.
#include "fuzz/target.h"
#include "runs/dispatch/dispatch_facts.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/run/run_fact.h"
#include "runs/run/run_projection.h"
#include "storage/entry/entry.h"

namespace holdfast::fuzz::journal_entry_fuzz {
namespace {

// The reader of the facts of one kind of thread.
template <typename Read>
void check_fact(const EntryView& entry, Read read) {
  const auto fact = read(entry.kind, entry.data);
  if (!fact.ok()) {
    return;
  }
  const auto written = to_entry(fact.value(), entry.at);
  require(written.ok(), "a fact that was read can be written");
  require(written.value().kind == entry.kind, "a fact keeps its kind");
  require(JsonText::parse(written.value().data.view()).ok(), "a written fact is JSON");
  const auto again = read(written.value().kind, written.value().data.view());
  require(again.ok() && to_entry(again.value(), entry.at).value().data == written.value().data,
          "a fact that was written is read as the same");
}

void check_folds(const EntryView& entry) {
  const auto id = parse_run_id(entry.thread.substr(entry.thread.find(':') + 1));
  if (id.ok()) {
    RunProjection run(id.value());
    run.fold(entry);
    require(run.revision() == Revision{1}, "every entry counts");
    const auto stored = RunProjection::decode(run.encode());
    require(stored.ok() && stored.value()->encode() == run.encode(),
            "a run survives its checkpoint");
  }
  DispatchProjection queue("default");
  queue.fold(entry);
  const auto stored_queue = DispatchProjection::decode(queue.encode());
  require(stored_queue.ok() && stored_queue.value()->encode() == queue.encode(),
          "a queue survives its checkpoint");
}

void check(std::string_view input) {
  const auto entry = BodyScanner(Position{7}, input).only();
  if (!entry.ok()) {
    require(entry.error().code() == ErrorCode::invalid_journal_entry &&
                entry.error().field("position") == "7" && entry.error().field("index") == "0" &&
                !entry.error().field("reason").empty(),
            "an error names its place");
    return;
  }
  const EntryView& view = entry.value();
  require(view.raw == input, "an entry is the whole text");
  std::string again;
  append_entry_head(again, view.thread, view.seq);
  append_tail_head(again, view.kind, view.at);
  again += view.data;
  again += '}';
  require(again == input, "an entry is written as it was read");
  check_fact(view, run_fact);
  check_fact(view, dispatch_fact);
  check_folds(view);
}

}  // namespace

HOLDFAST_FUZZ_TARGET(journal_entry, check)

}  // namespace holdfast::fuzz::journal_entry_fuzz

// The readers of checkpoints: a run, a queue, the live state of an engine. The first byte selects.
// A reader must be able to write what it accepts, and the state must be usable.
#include "fuzz/memory_journal.h"
#include "runs/engine/live_state.h"
#include "runs/run/run_projection.h"

namespace holdfast::fuzz::checkpoint_fuzz {
namespace {

constexpr MemoryLimits kLimits{.cached_bytes = 10'000};

void check_run(std::string_view bytes) {
  const auto run = RunProjection::decode(bytes);
  if (!run.ok()) {
    return;
  }
  const std::string encoded = run.value()->encode();
  const auto again = RunProjection::decode(encoded);
  require(again.ok() && again.value()->encode() == encoded, "a run is written as it is read");
  require(JsonText::parse(run.value()->context().view()).ok(), "the context of a run is JSON");
  static_cast<void>(run.value()->status());
  for (const PlannedRunnable* planned : run.value()->runnables()) {
    require(run.value()->find(planned->plan.runnable_key.view()) == planned,
            "a runnable is found by its key");
  }
}

void check_queue(std::string_view bytes) {
  const auto queue = DispatchProjection::decode(bytes);
  if (!queue.ok()) {
    return;
  }
  DispatchProjection& state = *queue.value();
  const std::string encoded = state.encode();
  const auto again = DispatchProjection::decode(encoded);
  require(again.ok() && again.value()->encode() == encoded, "a queue is written as it is read");
  state.advance(fuzz::kNow);
  const Attempt* const next = state.next_claimable({}, fuzz::kNow);
  require(next == nullptr || state.find(next->runnable_key.view()) == next,
          "what can be claimed is there");
  static_cast<void>(state.next_change({}, fuzz::kNow));
  static_cast<void>(state.timed_out(fuzz::kNow));
  for (const Attempt* attempt : again.value()->attempts()) {
    const RunId id = attempt->run_id;
    state.end_run(id);
    state.forget_run(id);
    require(state.attempts_of(id).empty(), "a removed run has no attempts");
  }
  require(state.attempt_count() == 0, "every attempt belongs to a run");
}

// The first two of three batches are sealed, so that a checkpoint of them is accepted by its
// position alone: no input could guess a hash of the chain.
std::shared_ptr<MemoryDisk> sealed_disk() {
  constexpr std::string_view kBody =
      R"([{"thread":"note:1","seq":%,"kind":"noted","at":1700000000000,"data":{}}])";
  std::vector<std::string> bodies;
  for (const char seq : {'0', '1', '2'}) {
    bodies.emplace_back(kBody).replace(kBody.find('%'), 1, 1, seq);
  }
  const auto disk = fuzz::disk_with({bodies.begin(), bodies.end()});
  require(fuzz::open_log(disk)->trim(Position{3}).ok(), "a log can be trimmed");
  return disk;
}

void check_live(std::string_view bytes) {
  const auto journal = fuzz::must(Journal::open(fuzz::open_log(sealed_disk())));
  Definitions definitions(*journal);
  LiveState state(*journal, definitions, kLimits);
  require(state.decode(bytes).ok(), "garbage instead of a checkpoint is not an error");
  require(state.position() <= Position{3}, "a checkpoint is not ahead of its journal");
  while (state.position() < Position{3}) {
    state.set_position(state.position().next());
  }
  const std::string encoded = state.encode();
  require(!encoded.empty(), "a state that was read can be written");
  LiveState again(*journal, definitions, kLimits);
  require(
      again.decode(encoded).ok() && again.position() == Position{3} && again.encode() == encoded,
      "a live state is written as it is read");
  for (const RunId& id : state.runs().ids()) {
    static_cast<void>(state.runs().get(id));
    state.forget(id);
  }
}

// The same as an engine does it, from the side table of the store.
void check_restore(std::string_view bytes) {
  const auto disk = sealed_disk();
  disk->side["checkpoint/" + live_checkpoint_name().text()] = bytes;
  const auto journal = fuzz::must(Journal::open(fuzz::open_log(disk)));
  Definitions definitions(*journal);
  LiveState state(*journal, definitions, kLimits);
  require(state.restore().ok(), "a damaged checkpoint is not an error");
}

void check(std::string_view input) {
  switch (fuzz::take_choice(input)) {
    case 'r':
      check_run(input);
      break;
    case 'q':
      check_queue(input);
      break;
    case 's':
      check_restore(input);
      break;
    default:
      check_live(input);
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(checkpoint, check)

}  // namespace holdfast::fuzz::checkpoint_fuzz

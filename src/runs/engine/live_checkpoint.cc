// LiveState as bytes. A checkpoint is only a cache: bytes that cannot be read are ignored.
#include <algorithm>

#include "base/encoding.h"
#include "base/fields.h"
#include "base/sorted.h"
#include "runs/engine/live_state.h"

namespace holdfast {

namespace {

struct OpenRunnable {
  SharedText runnable_key;
  RunId run_id;
  SharedText queue;

  HOLDFAST_FIELDS(required(runnable_key), optional(run_id), optional(queue));
};

struct ManualWait {
  RunId run_id;
  SharedText step;
  TimeMs at;

  HOLDFAST_FIELDS(required(run_id), required(step), required(at));
};

struct StoredLetter {
  RunId run_id;
  SharedText step;
  TimeMs at;
  SharedText queue;
  SharedText runnable_key;
  bool exhausted = false;

  HOLDFAST_FIELDS(required(run_id), required(step), required(at), required(queue),
                  required(runnable_key), optional(exhausted));
};

struct Stored {
  std::uint64_t position = 0;
  Digest chain{};  // of the batch at that position
  std::vector<Payload> queues;
  std::map<std::string, std::uint64_t> queue_revisions;
  std::vector<RunId> live;
  std::vector<SharedText> definitions;
  std::vector<OpenRunnable> unscheduled;
  std::vector<OpenRunnable> unapplied;
  std::vector<OpenRunnable> unprogressed;
  std::vector<ChildRunStarted> children;
  std::map<std::string, RegisteredWorkflow> workflows;
  std::map<std::string, ScheduleState> schedules;
  std::vector<Token> tokens;
  std::vector<ManualWait> manual_waits;
  std::vector<StoredLetter> letters;
  EndedCounts ended;

  HOLDFAST_FIELDS(required(position), required(chain), required(queues), optional(queue_revisions),
                  required(live), required(definitions), required(unscheduled), required(unapplied),
                  required(unprogressed), required(children), optional(workflows),
                  optional(schedules), optional(tokens), optional(manual_waits), optional(letters),
                  required(ended));
};

}  // namespace

std::string LiveState::encode() {
  const auto chain = journal_.log().chain_at(position_);
  if (!chain.ok() || !chain.value().has_value()) {
    return {};
  }
  Stored stored;
  stored.position = position_.value;
  stored.chain = *chain.value();
  for (const auto& [name, queue] : queues_.all()) {
    stored.queues.push_back(Payload::trusted(queue->encode()));
    stored.queue_revisions.emplace(name.str(), queue->revision().value);
  }
  stored.live = runs_.ids();
  std::sort(stored.live.begin(), stored.live.end());
  for (const auto& [key, run] : pending_recovery_.unscheduled) {
    stored.unscheduled.push_back({key, run, {}});
  }
  for (const auto& [key, queue] : pending_recovery_.unapplied) {
    stored.unapplied.push_back({key, {}, queue});
  }
  for (const auto& [key, queue] : pending_recovery_.unprogressed) {
    stored.unprogressed.push_back({key, {}, queue});
  }
  for (const auto& [id, link] : pending_recovery_.children) {
    stored.children.push_back(link);
  }
  Registry::Contents registry = registry_.contents();
  stored.definitions = std::move(registry.definitions);
  stored.workflows = std::move(registry.workflows);
  stored.schedules = std::move(registry.schedules);
  stored.tokens = std::move(registry.tokens);
  for (const auto& [wait, at] : runs_.manual_waits()) {
    stored.manual_waits.push_back({wait.first, wait.second, at});
  }
  for (const auto& [place, letter] : runs_.dead_letters()) {
    stored.letters.push_back(
        {place.run, place.step, place.at, place.queue, letter.runnable_key, letter.exhausted});
  }
  stored.ended = runs_.ended_counts();
  const auto text = to_json(stored);
  return text.ok() ? std::string(text.value().view()) : std::string();
}

Result<void> LiveState::decode(std::string_view bytes) {
  auto parsed = from_json<Stored>(bytes);
  if (!parsed.ok()) {
    return {};
  }
  Stored& stored = parsed.value();
  // A batch that was sealed since is proved by the history that follows it.
  HOLDFAST_TRY(const StoreState store, journal_.log().refresh());
  HOLDFAST_TRY(const auto chain, journal_.log().chain_at(Position{stored.position}));
  const bool sealed = stored.position < store.start.value;
  if (stored.position > store.head.value || (!sealed && chain != stored.chain)) {
    return {};
  }
  LiveQueues::Map queues;
  for (const Payload& text : stored.queues) {
    auto queue = DispatchProjection::decode(text.view());
    if (!queue.ok()) {
      return {};
    }
    const SharedText name = queue.value()->queue();
    queue.value()->set_revision(Revision{stored.queue_revisions[name.str()]});
    queues[name] = std::move(queue).value();
  }
  queues_.restore(std::move(queues));
  LiveRuns::ManualWaits manual_waits;
  for (const ManualWait& wait : stored.manual_waits) {
    manual_waits.emplace(std::pair(wait.run_id, wait.step), wait.at);
  }
  runs_.restore(stored.live, stored.ended, std::move(manual_waits));
  for (const StoredLetter& letter : stored.letters) {
    runs_.add_letter({letter.queue, letter.at, letter.run_id, letter.step},
                     {letter.runnable_key, letter.exhausted});
  }
  for (const OpenRunnable& open : stored.unscheduled) {
    pending_recovery_.unscheduled.emplace(open.runnable_key, open.run_id);
  }
  for (const OpenRunnable& open : stored.unapplied) {
    pending_recovery_.unapplied.emplace(open.runnable_key, open.queue);
  }
  for (const OpenRunnable& open : stored.unprogressed) {
    pending_recovery_.unprogressed.emplace(open.runnable_key, open.queue);
  }
  for (const ChildRunStarted& link : stored.children) {
    pending_recovery_.children.emplace(link.child_run_id, link);
  }
  registry_.restore({std::move(stored.definitions), std::move(stored.workflows),
                     std::move(stored.schedules), std::move(stored.tokens)});
  position_ = Position{stored.position};
  return {};
}

}  // namespace holdfast

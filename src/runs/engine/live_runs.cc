#include "runs/engine/live_runs.h"

namespace holdfast {

std::uint64_t& EndedCounts::of(TerminalStatus status) {
  switch (status) {
    case TerminalStatus::completed:
      return completed;
    case TerminalStatus::failed:
      return failed;
    case TerminalStatus::cancelled:
      return cancelled;
    case TerminalStatus::continued:
      break;
  }
  return continued;
}

const RunProjection* LiveRuns::find(const RunId& id) const {
  const auto cached = cache_.find(id);
  return cached != cache_.end() ? cached->second.projection.get() : nullptr;
}

const RunProjection* LiveRuns::find_durable(const RunId& id) const {
  const auto cached = cache_.find(id);
  const bool durable = cached != cache_.end() && cached->second.touched <= undo_.oldest();
  return durable ? cached->second.projection.get() : nullptr;
}

Result<bool> LiveRuns::exists(const RunId& id) {
  const auto cached = cache_.find(id);
  if (live_.contains(id) ||
      (cached != cache_.end() && cached->second.projection->revision() > Revision{0})) {
    return true;
  }
  HOLDFAST_TRY(const Revision revision, journal_.revision(run_thread(id)));
  return revision > Revision{0};
}

Result<std::unique_ptr<RunProjection>> LiveRuns::load(const RunId& id) {
  auto projection = std::make_unique<RunProjection>(id);
  HOLDFAST_TRY(const auto entries, journal_.load(run_thread(id)));
  for (const Entry& entry : entries) {
    if (!as_of_.has_value() || entry.position <= *as_of_) {
      projection->fold(entry);
    }
  }
  if (projection->revision() == Revision{0}) {
    return Error{ErrorCode::run_not_found, "there is no run " + to_string(id)}.with("run_id",
                                                                                    to_string(id));
  }
  HOLDFAST_CHECK(attach_definition(*projection));
  return projection;
}

// A run whose definition is unknown here is returned without it.
Result<void> LiveRuns::attach_definition(RunProjection& projection) {
  const bool attached = projection.definition() != nullptr;
  if (attached && projection.migrations().empty()) {
    return {};
  }
  const SharedText pinned = projection.pinned_definition().fingerprint;
  if (pinned.empty() || (attached && projection.definition()->fingerprint() == pinned)) {
    return {};
  }
  auto definition = definitions_.pinned(pinned);
  if (definition.ok()) {
    projection.attach(std::move(definition).value());
    return {};
  }
  // What it followed before another process migrated it.
  if (attached) {
    projection.attach(nullptr);
  }
  return definition.error().code() == ErrorCode::unknown_workflow
             ? Result<void>()
             : Result<void>(std::move(definition).error());
}

RunProjection& LiveRuns::keep(const RunId& id, std::unique_ptr<RunProjection> projection) {
  projection->set_undo(&undo_);
  Cached& cached = cache_[id];
  cached.projection = std::move(projection);
  cached.used = true;
  weigh(cached);
  cache_order_.push_back(id);
  return *cached.projection;
}

// Payloads are held about twice: as the facts have them, and in the context or the indexes.
void LiveRuns::weigh(Cached& cached) {
  constexpr std::size_t kEmptyRun = 1024;
  constexpr std::size_t kRunnable = 512;
  const RunProjection& run = *cached.projection;
  const std::size_t weight = kEmptyRun + kRunnable * run.runnable_count() + 2 * run.fact_bytes();
  cached_weight_ += weight - cached.weight;
  cached.weight = weight;
}

void LiveRuns::uncache(const RunId& id) {
  const auto found = cache_.find(id);
  if (found != cache_.end()) {
    HOLDFAST_ASSERT(cached_weight_ >= found->second.weight);  // E12
    cached_weight_ -= found->second.weight;
    cache_.erase(found);
    HOLDFAST_ASSERT(!cache_.empty() || cached_weight_ == 0);  // E12
  }
}

Result<RunProjection*> LiveRuns::get(const RunId& id) {
  const auto found = cache_.find(id);
  // One without entries is the remains of a start that was undone.
  if (found != cache_.end() && found->second.projection->revision() > Revision{0}) {
    found->second.used = true;
    HOLDFAST_CHECK(attach_definition(*found->second.projection));
    return found->second.projection.get();
  }
  HOLDFAST_TRY(auto projection, load(id));
  return &keep(id, std::move(projection));
}

// The remains of a start that was undone may have another definition attached.
RunProjection& LiveRuns::create(const RunId& id) {
  uncache(id);
  return keep(id, std::make_unique<RunProjection>(id));
}

RunProjection& LiveRuns::held(const RunId& id) {
  const auto found = cache_.find(id);
  HOLDFAST_ASSERT(found != cache_.end());  // E11
  return *found->second.projection;
}

void LiveRuns::trim(const Evicted& evicted) {
  std::size_t candidates = cache_order_.size();
  while (cached_weight_ > cached_bytes_ && candidates-- > 0) {
    const RunId id = cache_order_.front();
    cache_order_.pop_front();
    const auto found = cache_.find(id);
    if (found == cache_.end()) {
      continue;
    }
    if (found->second.used || found->second.touched > undo_.oldest()) {
      found->second.used = false;
      cache_order_.push_back(id);
      continue;
    }
    if (evicted != nullptr) {
      evicted(*found->second.projection);
    }
    uncache(id);
  }
}

void LiveRuns::touch(const RunId& id) {
  const auto found = cache_.find(id);
  HOLDFAST_ASSERT(found != cache_.end());  // E11
  found->second.used = true;
  found->second.touched = undo_.mark();
  weigh(found->second);
}

void LiveRuns::fold(const RunId& id, const EntryView& entry) {
  // Another process has started the run: see create().
  if (entry.seq == Revision{0}) {
    uncache(id);
  }
  const auto cached = cache_.find(id);
  // The journal may have known more than this fold when the run was loaded.
  if (cached != cache_.end() && cached->second.projection->revision() == entry.seq) {
    cached->second.projection->fold(entry);
    HOLDFAST_ASSERT(cached->second.projection->revision() == entry.seq.next());  // E9
  }
}

void LiveRuns::start(const RunId& run) {
  if (live_.insert(run).second) {
    undo_.add([this, run] { live_.erase(run); });
  }
}

void LiveRuns::end(const RunId& run, TerminalStatus status, TimeMs at,
                   const std::optional<ExhaustedAttempt>& exhausted) {
  std::uint64_t& count = ended_counts_.of(status);
  save(&undo_, count);
  ++count;
  for (auto wait = manual_waits_.lower_bound({run, SharedText()});
       wait != manual_waits_.end() && wait->first.first == run;) {
    const auto key = wait->first;
    ++wait;
    erase(&undo_, manual_waits_, key);
  }
  for (auto letter = letters_by_step_.lower_bound({run, SharedText()});
       letter != letters_by_step_.end() && letter->first.first == run;
       letter = letters_by_step_.lower_bound({run, SharedText()})) {
    const SharedText step = letter->first.second;
    remove_letter(run, step);
  }
  if (exhausted.has_value()) {
    add_letter({exhausted->queue, at, run, exhausted->step}, {exhausted->runnable_key, true});
  }
}

void LiveRuns::add_letter(const LetterPlace& place, const Letter& letter) {
  remove_letter(place.run, place.step);
  insert(&undo_, letters_, place, letter);
  insert(&undo_, letters_by_step_, {place.run, place.step}, place);
  if (letter.exhausted) {
    save(&undo_, exhausted_count_);
    ++exhausted_count_;
  }
}

void LiveRuns::remove_letter(const RunId& run, const SharedText& step) {
  const auto known = letters_by_step_.find({run, step});
  if (known == letters_by_step_.end()) {
    return;
  }
  const LetterPlace place = known->second;
  if (letters_.at(place).exhausted) {
    save(&undo_, exhausted_count_);
    --exhausted_count_;
  }
  erase(&undo_, letters_, place);
  erase(&undo_, letters_by_step_, {run, step});
}

void LiveRuns::remove_exhausted(const RunId& run, const SharedText& runnable_key) {
  const auto known = letters_by_step_.lower_bound({run, SharedText()});
  if (known == letters_by_step_.end() || known->first.first != run) {
    return;
  }
  const Letter& letter = letters_.at(known->second);
  if (letter.exhausted && letter.runnable_key == runnable_key) {
    const SharedText step = known->first.second;
    remove_letter(run, step);
  }
}

void LiveRuns::open_manual_wait(const RunId& run, const SharedText& step, TimeMs at) {
  erase(&undo_, manual_waits_, {run, step});
  insert(&undo_, manual_waits_, {run, step}, at);
}

void LiveRuns::close_manual_wait(const RunId& run, const SharedText& step) {
  erase(&undo_, manual_waits_, {run, step});
}

void LiveRuns::forget(const RunId& run) {
  live_.erase(run);
  // The next group may have changed it again, which can still be undone.
  if (find_durable(run) != nullptr) {
    uncache(run);
  }
}

void LiveRuns::restore(const std::vector<RunId>& live, const EndedCounts& ended,
                       ManualWaits manual_waits) {
  HOLDFAST_ASSERT(live_.empty());
  live_.insert(live.begin(), live.end());
  ended_counts_ = ended;
  manual_waits_ = std::move(manual_waits);
}

}  // namespace holdfast

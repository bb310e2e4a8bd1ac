// Reading one thread: first its segments, then its unsealed batches.
#include <algorithm>

#include "storage/journal/journal.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/journal_segment.h"

namespace holdfast {

namespace {

constexpr int kMaxTries = 10;

Error thread_gap(std::string_view thread, Revision missing) {
  return Error{ErrorCode::invalid_journal_thread, "thread " + std::string(thread) + ": entry " +
                                                      std::to_string(missing.value) + " is missing"}
      .with("thread", thread)
      .with("seq", missing.value)
      .with("reason", "seq_gap");
}

// The batch that contains `from` is the last one that starts at or before it.
std::vector<ThreadBatch>::const_iterator batch_of(const ThreadState& state, Revision from) {
  const auto after =
      std::upper_bound(state.batches.begin(), state.batches.end(), from,
                       [](Revision seq, const ThreadBatch& at) { return seq < at.first; });
  return after == state.batches.begin() ? after : std::prev(after);
}

// Adds the entries of one thread in a batch with from <= seq < to.
Result<void> pick_entries(std::string_view thread, Revision from, Revision to, Batch batch,
                          std::vector<Entry>& out) {
  const auto owner = std::make_shared<const std::string>(std::move(batch.body));
  BodyScanner scanner(batch.position, *owner);
  for (;;) {
    HOLDFAST_TRY(const auto view, scanner.next());
    if (!view.has_value()) {
      return {};
    }
    if (view->thread != thread || view->seq < from || to <= view->seq) {
      continue;
    }
    out.push_back(Entry{*view, batch.position, scanner.count() - 1, owner});
  }
}

}  // namespace

Result<std::vector<Entry>> Journal::load(const ThreadId& thread, Revision from, std::size_t limit,
                                         BatchCache* cache) {
  for (int tries = 1;; ++tries) {
    auto loaded = load_once(thread.text(), from, limit, cache);
    if (loaded.ok() || loaded.error().code() != ErrorCode::not_found || tries == kMaxTries) {
      return loaded;
    }
    // Another process has sealed the batches that were about to be read; they are in segments now.
    const std::scoped_lock lock(mutex_);
    HOLDFAST_CHECK(stop_on_damage(reload()));
  }
}

Result<std::vector<Entry>> Journal::load_once(std::string_view thread, Revision from,
                                              std::size_t limit, BatchCache* cache) {
  ThreadState state;
  {
    const std::scoped_lock lock(mutex_);
    HOLDFAST_TRY(state, thread_state(thread));
  }
  std::vector<Entry> entries;
  if (state.durable <= from || limit == 0) {
    return entries;
  }
  const Revision to = state.durable.value - from.value <= limit ? state.durable : from.plus(limit);
  HOLDFAST_CHECK(load_sealed(thread, from, std::min(to, state.sealed), entries));
  const Revision unsealed = std::max(from, state.sealed);
  HOLDFAST_CHECK(cache == nullptr ? load_unsealed(thread, state, unsealed, to, entries)
                                  : load_cached(thread, state, unsealed, to, *cache, entries));
  Revision expected = from;
  for (const Entry& entry : entries) {
    if (entry.seq != expected) {
      return thread_gap(thread, expected);
    }
    expected = expected.next();
  }
  if (expected != to) {
    return thread_gap(thread, expected);
  }
  return entries;
}

Result<void> Journal::load_sealed(std::string_view thread, Revision from, Revision to,
                                  std::vector<Entry>& out) {
  if (to <= from) {
    return {};
  }
  // The segment that contains `from` is the last one that starts at or before it.
  HOLDFAST_TRY(const auto first, log_->scan(SideScan{.prefix = segment_prefix(thread),
                                                     .from = segment_key(thread, from),
                                                     .order = SideScan::Order::descending,
                                                     .max_pairs = 1}));
  std::optional<std::string> next = first.empty() ? std::nullopt : std::optional(first.front().key);
  while (next.has_value()) {
    HOLDFAST_TRY(const auto segments,
                 log_->scan(SideScan{.prefix = segment_prefix(thread), .from = next}));
    next.reset();
    for (const SidePair& segment : segments) {
      HOLDFAST_TRY(const auto entries, unpack_segment(segment.key, segment.value));
      for (const Entry& entry : entries) {
        if (from <= entry.seq && entry.seq < to) {
          out.push_back(entry);
        }
      }
      if (!entries.empty() && to <= entries.back().seq.next()) {
        return {};
      }
      next = segment.key + '\0';
    }
  }
  return {};
}

Result<void> Journal::load_cached(std::string_view thread, const ThreadState& state, Revision from,
                                  Revision to, BatchCache& cache, std::vector<Entry>& out) {
  if (to <= from) {
    return {};
  }
  for (auto batch = batch_of(state, from); batch != state.batches.end() && batch->first < to;
       ++batch) {
    HOLDFAST_TRY(auto entries, cache.entries(*log_, batch->position, thread));
    for (Entry& entry : entries) {
      if (from <= entry.seq && entry.seq < to) {
        out.push_back(std::move(entry));
      }
    }
  }
  return {};
}

Result<void> Journal::load_unsealed(std::string_view thread, const ThreadState& state,
                                    Revision from, Revision to, std::vector<Entry>& out) {
  if (to <= from) {
    return {};
  }
  auto batch = batch_of(state, from);
  while (batch != state.batches.end() && batch->first < to) {
    // Adjacent batches are read at once.
    auto end = std::next(batch);
    while (end != state.batches.end() && end->first < to &&
           end->position == std::prev(end)->position.next()) {
      ++end;
    }
    HOLDFAST_TRY(auto reader, log_->read(batch->position));
    const Position stop = std::prev(end)->position.next();
    while (reader.next_position() < stop) {
      const auto rows = static_cast<std::size_t>(stop.value - reader.next_position().value);
      HOLDFAST_TRY(auto read, reader.next(ReadLimit{.max_rows = rows}));
      for (Batch& one : read) {
        HOLDFAST_CHECK(pick_entries(thread, from, to, std::move(one), out));
      }
    }
    batch = end;
  }
  return {};
}

}  // namespace holdfast

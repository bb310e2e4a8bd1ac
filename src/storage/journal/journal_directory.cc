#include "storage/journal/journal_directory.h"

#include <algorithm>
#include <optional>

#include "base/encoding.h"
#include "holdfast/assert.h"
#include "storage/entry/entry.h"

namespace holdfast {

namespace {

void put_number(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7fU) | 0x80U);
    value >>= 7U;
  }
  out += static_cast<char>(value);
}

// Reads what put_number and plain copies wrote; remembers if anything was wrong.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).empty() ? '\0' : last_);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) {
        // Leading zeroes, or more than 64 bits: put_number() writes neither.
        good_ = good_ && (byte != 0 || shift == 0) && (byte <= 1 || shift < 63);
        return value;
      }
    }
    good_ = false;
    return 0;
  }

  std::string_view take(std::size_t count) {
    if (bytes_.size() < count) {
      good_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    if (!taken.empty()) {
      last_ = taken.back();
    }
    return taken;
  }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  char last_ = '\0';
  bool good_ = true;
};

// A thread without its name; empty if a journal up to `at` cannot have such a thread.
std::optional<ThreadState> take_thread(Cursor& cursor, Position at) {
  const Revision sealed{cursor.number()};
  const Revision durable = sealed.plus(cursor.number());
  const std::uint64_t batches = cursor.number();
  if (!cursor.good() || durable < sealed || batches > cursor.left()) {
    return std::nullopt;
  }
  ThreadState state{sealed, durable, {}};
  state.batches.reserve(batches);
  ThreadBatch batch{Position{0}, sealed};
  for (std::uint64_t n = 0; n < batches; ++n) {
    const ThreadBatch next{batch.position.plus(cursor.number()), batch.first.plus(cursor.number())};
    if (next.position <= batch.position || next.position > at || next.first < batch.first ||
        next.first >= durable) {
      return std::nullopt;
    }
    batch = next;
    state.batches.push_back(batch);
  }
  return state;
}

Error seq_gap(Position position, std::uint32_t index, const EntryView& entry, Revision expected) {
  return Error{ErrorCode::invalid_journal_entry,
               "entry " + std::to_string(index) + " of batch " + std::to_string(position.value) +
                   ": thread " + std::string(entry.thread) + " is at revision " +
                   std::to_string(expected.value) + " but the entry has seq " +
                   std::to_string(entry.seq.value)}
      .with("position", position.value)
      .with("index", index)
      .with("thread", entry.thread)
      .with("seq", entry.seq.value)
      .with("reason", "seq_gap");
}

}  // namespace

Result<void> Directory::fold(Position position, std::string_view body, const Digest& chain) {
  BodyScanner scanner(position, body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      break;
    }
    auto found = threads_.find(entry->thread);
    if (found == threads_.end()) {
      // The first unsealed entry of a thread shows how many are sealed.
      found = threads_.try_emplace(std::string(entry->thread)).first;
      found->second = ThreadState{entry->seq, entry->seq, {}};
    }
    ThreadState& state = found->second;
    if (entry->seq != state.durable) {
      return seq_gap(position, scanner.count() - 1, *entry, state.durable);
    }
    if (state.batches.empty() || state.batches.back().position != position) {
      state.batches.push_back(ThreadBatch{position, entry->seq});
    }
    state.durable = state.durable.next();
  }
  advance(position, chain);
  return {};
}

void Directory::add(Position position, std::string_view thread, Revision first,
                    std::uint64_t count) {
  auto found = threads_.find(thread);
  if (found == threads_.end()) {
    found = threads_.try_emplace(std::string(thread), ThreadState{first, first, {}}).first;
  }
  ThreadState& state = found->second;
  HOLDFAST_ASSERT(state.durable == first);
  if (state.batches.empty() || state.batches.back().position != position) {
    state.batches.push_back(ThreadBatch{position, state.durable});
  }
  state.durable = state.durable.plus(count);
}

void Directory::advance(Position position, const Digest& chain) {
  at_ = position;
  chain_ = chain;
}

const ThreadState* Directory::find(std::string_view thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? nullptr : &found->second;
}

void Directory::forget_below(Position start) {
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    ThreadState& state = thread->second;
    const auto kept =
        std::lower_bound(state.batches.begin(), state.batches.end(), start,
                         [](const ThreadBatch& batch, Position at) { return batch.position < at; });
    state.sealed = kept == state.batches.end() ? state.durable : kept->first;
    state.batches.erase(state.batches.begin(), kept);
    thread = state.batches.empty() ? threads_.erase(thread) : std::next(thread);
  }
}

// Layout: position, chain, number of threads, then per thread: length and bytes of the name,
// sealed, durable - sealed, number of batches, and the distances of their positions and first
// entries. Numbers are 7 bits per byte, low bits first.
std::string Directory::encode() const {
  std::string out;
  put_number(out, at_.value);
  out += as_text(chain_);
  put_number(out, threads_.size());
  for (const auto& [thread, state] : threads_) {
    put_number(out, thread.size());
    out += thread;
    put_number(out, state.sealed.value);
    put_number(out, state.durable.value - state.sealed.value);
    put_number(out, state.batches.size());
    ThreadBatch previous{Position{0}, state.sealed};
    for (const ThreadBatch& batch : state.batches) {
      put_number(out, batch.position.value - previous.position.value);
      put_number(out, batch.first.value - previous.first.value);
      previous = batch;
    }
  }
  return out;
}

Result<Directory> Directory::decode(std::string_view bytes) {
  const Error damaged{ErrorCode::corrupt_segment, "the stored directory is damaged"};
  Cursor cursor(bytes);
  Directory directory;
  directory.at_ = Position{cursor.number()};
  copy_exactly(cursor.take(directory.chain_.size()), directory.chain_);
  const std::uint64_t threads = cursor.number();
  if (!cursor.good() || threads > cursor.left()) {
    return damaged;
  }
  directory.threads_.reserve(threads);
  for (std::uint64_t i = 0; i < threads; ++i) {
    const std::string_view thread = cursor.take(cursor.number());
    auto state = take_thread(cursor, directory.at_);
    if (!state.has_value() ||
        !directory.threads_.try_emplace(std::string(thread), *std::move(state)).second) {
      return damaged;
    }
  }
  if (!cursor.good() || !cursor.at_end()) {
    return damaged;
  }
  return directory;
}

}  // namespace holdfast

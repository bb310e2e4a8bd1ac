#include "storage/journal/journal.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/packed.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/open_journal.h"

namespace holdfast {

namespace {

constexpr std::uint8_t kDirectoryVersion = 1;

Error revision_conflict(const CommitPart& part, Revision actual) {
  return Error{ErrorCode::conflict,
               fmt::format("thread {} is at revision {}, not at the expected {}", part.thread,
                           actual.value, part.expected_rev->value)}
      .with("thread", part.thread)
      .with("expected_rev", part.expected_rev->value)
      .with("revision", actual.value);
}

Error head_conflict(Position expected, Position head) {
  return Error{ErrorCode::conflict, fmt::format("the log is at position {}, not at the expected {}",
                                                head.value, expected.value)}
      .with("expected_head", expected.value)
      .with("head", head.value);
}

// The stored directory, if it is intact and belongs to the current log.
std::optional<Directory> usable_directory(Log& log, const StoreState& state,
                                          const std::optional<std::string>& bytes) {
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  auto unpacked = unpack(PackedType::directory, *bytes);
  if (!unpacked.ok() || unpacked.value().version != kDirectoryVersion) {
    return std::nullopt;
  }
  auto directory = Directory::decode(unpacked.value().text);
  if (!directory.ok() || directory.value().at().next() < state.start ||
      state.head < directory.value().at()) {
    return std::nullopt;
  }
  const auto chain = log.chain_at(directory.value().at());
  if (!chain.ok() || chain.value() != directory.value().chain()) {
    return std::nullopt;
  }
  return std::move(directory).value();
}

}  // namespace

Journal::Journal(std::unique_ptr<Log> log) : log_(std::move(log)) {}

Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(std::unique_ptr<Log> log) {
  HOLDFAST_CHECK(check_copy_finished(*log));
  std::unique_ptr<Journal> journal(new Journal(std::move(log)));
  const std::scoped_lock lock(journal->mutex_);
  HOLDFAST_CHECK(journal->reload());
  return journal;
}

Result<void> Journal::reload() {
  HOLDFAST_TRY(const auto state, log_->refresh());
  HOLDFAST_TRY(const auto stored, log_->get(std::string(kDirectoryKey)));
  auto directory = usable_directory(*log_, state, stored);
  directory_ = directory.has_value() ? *std::move(directory)
                                     : Directory(Position{state.start.value - 1}, state.anchor);
  directory_.forget_below(state.start);
  ever_sealed_ = state.start > Position{1};
  opened_from_batches_ = state.head.value - directory_.at().value;
  return fold_new_batches();
}

Result<void> Journal::fold_new_batches() {
  auto reader = log_->read(directory_.at().next());
  while (reader.ok()) {
    auto batches = reader.value().next();
    if (!batches.ok()) {
      reader = std::move(batches).error();
      break;
    }
    if (batches.value().empty()) {
      return {};
    }
    for (const Batch& batch : batches.value()) {
      HOLDFAST_CHECK(directory_.fold(batch.position, batch.body, batch.chain));
    }
  }
  // Another process has sealed what this one had not read yet: begin again after the seal.
  if (reader.error().code() == ErrorCode::not_found) {
    return reload();
  }
  return std::move(reader).error();
}

Result<void> Journal::stop_on_damage(Result<void> folded) {
  if (!folded.ok() && is_damage(folded.error().code())) {
    stop(folded.error());
  }
  return folded;
}

void Journal::stop(const Error& error) {
  stopped_ = Error{ErrorCode::log_stopped,
                   "the journal stopped after a failure and must be opened again: " + error.text()};
}

Result<Position> Journal::catch_up() {
  const std::scoped_lock lock(mutex_);
  HOLDFAST_CHECK(stop_on_damage(fold_new_batches()));
  return directory_.at();
}

Result<ThreadState> Journal::thread_state(std::string_view thread) {
  if (const ThreadState* known = directory_.find(thread)) {
    return *known;
  }
  HOLDFAST_TRY(const Revision sealed, durable_revision(thread));
  return ThreadState{sealed, sealed, {}};
}

Result<Revision> Journal::durable_revision(std::string_view thread) {
  if (const ThreadState* known = directory_.find(thread)) {
    return known->durable;
  }
  if (!ever_sealed_) {
    return Revision{};
  }
  HOLDFAST_TRY(const auto stored, log_->get(thread_key(thread)));
  return stored.has_value() ? unpack_sealed_revision(thread, *stored) : Revision{};
}

Result<Revision> Journal::revision(const ThreadId& thread) {
  const std::scoped_lock lock(mutex_);
  return durable_revision(thread.text());
}

Result<ThreadState> Journal::state_of(const ThreadId& thread) {
  const std::scoped_lock lock(mutex_);
  return thread_state(thread.text());
}

Result<Revision> Journal::append(const ThreadId& thread, std::vector<NewEntry> entries,
                                 std::optional<Revision> expected_rev) {
  Commit one;
  one.push_back(ThreadAppend{thread, expected_rev, std::move(entries)});
  HOLDFAST_TRY(const auto committed, commit(one));
  return committed.revisions.front();
}

Result<Committed> Journal::commit(const Commit& commit) {
  HOLDFAST_TRY(CommitBuffer buffer, CommitBuffer::encode(commit));
  return write(std::move(buffer), std::nullopt);
}

Result<Committed> Journal::commit_at(Position expected_head, CommitBuffer&& commit) {
  HOLDFAST_CHECK(commit.check());
  return write(std::move(commit), expected_head);
}

Result<void> Journal::number(std::vector<CommitPart>& parts,
                             std::optional<Position> expected_head) {
  if (stopped_.has_value()) {
    return *stopped_;
  }
  if (expected_head.has_value() && *expected_head != directory_.at()) {
    return head_conflict(*expected_head, directory_.at());
  }
  std::unordered_map<std::string_view, Revision> next;  // a thread may have several parts
  next.reserve(parts.size());
  for (CommitPart& part : parts) {
    const auto [known, added] = next.try_emplace(part.thread);
    if (added) {
      HOLDFAST_TRY(known->second, durable_revision(part.thread));
    }
    if (part.expected_rev.has_value() && *part.expected_rev != known->second) {
      return revision_conflict(part, known->second);
    }
    part.first = known->second;
    known->second = part.first.plus(part.count);
  }
  return {};
}

Result<Committed> Journal::write(CommitBuffer&& commit, std::optional<Position> expected_head) {
  const std::scoped_lock writing(write_mutex_);
  for (;;) {
    Position head;
    {
      const std::scoped_lock lock(mutex_);
      HOLDFAST_CHECK(number(commit.parts(), expected_head));
      head = directory_.at();
    }
    const auto written = log_->append(head, commit.body());
    const std::scoped_lock lock(mutex_);
    if (written.ok()) {
      if (const auto added = add_to_directory(commit.parts(), written.value()); !added.ok()) {
        stop(added.error());  // the batch is durable, but later ones cannot be numbered
      }
      return committed_at(written.value().position, commit.parts());
    }
    const ErrorCode code = written.error().code();
    if (code == ErrorCode::busy || code == ErrorCode::read_only) {
      return written.error();
    }
    const Result<void> seen = code == ErrorCode::conflict ? fold_new_batches() : written.error();
    if (!seen.ok()) {
      stop(seen.error());
      if (can_recover()) {
        open_ = std::move(commit.parts());
      }
      return seen.error();
    }
  }
}

Committed Journal::committed_at(Position position, const std::vector<CommitPart>& parts) {
  Committed committed{position, {}};
  committed.revisions.reserve(parts.size());
  for (const CommitPart& part : parts) {
    committed.revisions.push_back(part.first.plus(part.count));
  }
  return committed;
}

// A reader may have moved the directory during the append: past this batch, or, when it had to
// begin again and failed, back to an earlier one.
Result<void> Journal::add_to_directory(const std::vector<CommitPart>& parts,
                                       const LogHead& written) {
  if (directory_.at().next() != written.position) {
    return directory_.at() < written.position ? fold_new_batches() : Result<void>();
  }
  directory_.advance(written.position, written.chain);
  for (const CommitPart& part : parts) {
    directory_.add(written.position, part.thread, part.first, part.count);
  }
  return {};
}

Result<void> Journal::save_directory() {
  std::string bytes;
  {
    const std::scoped_lock lock(mutex_);
    bytes = directory_.encode();
  }
  SideUpdate update;
  update.puts.push_back(
      SidePair{std::string(kDirectoryKey), pack(PackedType::directory, kDirectoryVersion, bytes)});
  return log_->update(std::move(update));
}

Result<JournalStat> Journal::stat() {
  HOLDFAST_TRY(const auto state, log_->refresh());
  HOLDFAST_TRY(const auto size, log_->size_bytes());
  const std::scoped_lock lock(mutex_);
  return JournalStat{.log_id = state.log_id,
                     .start = state.start,
                     .head = state.head,
                     .head_chain = state.head_chain,
                     .unsealed_threads = directory_.thread_count(),
                     .size_bytes = size,
                     .opened_from_batches = opened_from_batches_};
}

}  // namespace holdfast

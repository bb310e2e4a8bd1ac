// Checkpoints are always disposable, so a doubtful one counts as missing.
#include "base/packed.h"
#include "base/text.h"
#include "storage/journal/journal.h"
#include "storage/journal/journal_keys.h"

namespace holdfast {

namespace {

std::optional<Checkpoint> unpack_checkpoint(std::string_view stored, std::uint8_t version) {
  auto unpacked = unpack(PackedType::checkpoint, stored);
  if (!unpacked.ok() || unpacked.value().version != version) {
    return std::nullopt;
  }
  const std::string& text = unpacked.value().text;
  const std::size_t line = text.find('\n');
  const auto covered = parse_decimal(std::string_view(text).substr(0, line));
  if (line == std::string::npos || !covered.has_value()) {
    return std::nullopt;
  }
  return Checkpoint{version, Revision{*covered}, text.substr(line + 1)};
}

}  // namespace

Result<void> Journal::put_checkpoint(const ThreadId& thread, const Checkpoint& checkpoint) {
  const NamedCheckpoint one{thread, checkpoint};
  return put_checkpoints(std::span(&one, 1));
}

Result<void> Journal::put_checkpoints(std::span<const NamedCheckpoint> checkpoints) {
  SideUpdate update;
  for (const auto& [thread, checkpoint] : checkpoints) {
    HOLDFAST_TRY(const Revision current, revision(thread));
    if (current < checkpoint.revision) {
      return Error{ErrorCode::invalid_argument,
                   "a checkpoint of thread " + thread.text() + " covers revision " +
                       std::to_string(checkpoint.revision.value) + ", but the thread is at " +
                       std::to_string(current.value)};
    }
    const std::string text = std::to_string(checkpoint.revision.value) + "\n" + checkpoint.data;
    if (text.size() > kMaxPackedText) {
      return Error{ErrorCode::too_large, "a checkpoint of thread " + thread.text() + " has " +
                                             std::to_string(text.size()) + " bytes"};
    }
    update.puts.push_back(SidePair{checkpoint_key(thread.text()),
                                   pack(PackedType::checkpoint, checkpoint.version, text)});
  }
  return log_->update(std::move(update));
}

Result<std::optional<Checkpoint>> Journal::find_checkpoint(const ThreadId& thread,
                                                           std::uint8_t version) {
  const std::optional<Checkpoint> none;
  HOLDFAST_TRY(const auto stored, log_->get(checkpoint_key(thread.text())));
  auto checkpoint = stored.has_value() ? unpack_checkpoint(*stored, version) : none;
  if (!checkpoint.has_value()) {
    return none;
  }
  HOLDFAST_TRY(const Revision current, revision(thread));
  return current < checkpoint->revision ? none : checkpoint;
}

Result<std::vector<std::optional<Checkpoint>>> Journal::find_current_checkpoints(
    std::span<const ThreadId> threads, std::uint8_t version) {
  std::vector<std::string> keys;
  std::vector<std::optional<Revision>> revisions;  // empty: it is stored beside the checkpoint
  {
    const std::scoped_lock lock(mutex_);
    for (const ThreadId& thread : threads) {
      const ThreadState* known = directory_.find(thread.text());
      keys.push_back(checkpoint_key(thread.text()));
      if (known == nullptr && ever_sealed_) {
        keys.push_back(thread_key(thread.text()));
        revisions.emplace_back(std::nullopt);
      } else {
        revisions.emplace_back(known == nullptr ? Revision{0} : known->durable);
      }
    }
  }
  HOLDFAST_TRY(const auto stored, log_->get(keys));
  std::vector<std::optional<Checkpoint>> found(threads.size());
  auto value = stored.begin();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const std::optional<std::string>& packed = *value++;
    if (!revisions[i].has_value()) {
      const std::optional<std::string>& sealed = *value++;
      const auto revision = sealed.has_value() ? unpack_sealed_revision(threads[i].text(), *sealed)
                                               : Result<Revision>(Revision{0});
      if (!revision.ok()) {
        continue;
      }
      revisions[i] = revision.value();
    }
    found[i] = packed.has_value() ? unpack_checkpoint(*packed, version) : std::nullopt;
    if (found[i].has_value() && found[i]->revision != *revisions[i]) {
      found[i].reset();
    }
  }
  return found;
}

Result<void> Journal::delete_checkpoint(const ThreadId& thread) {
  SideUpdate update;
  update.deletes.push_back(checkpoint_key(thread.text()));
  return log_->update(std::move(update));
}

}  // namespace holdfast

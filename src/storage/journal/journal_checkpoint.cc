// Checkpoints: always disposable, so anything doubtful about one means that there is none.
#include "base/packed.h"
#include "base/text.h"
#include "storage/journal/journal.h"
#include "storage/journal/journal_keys.h"

namespace holdfast {

Result<void> Journal::put_checkpoint(const ThreadId& thread, const Checkpoint& checkpoint) {
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
  SideUpdate update;
  update.puts.push_back(SidePair{checkpoint_key(thread.text()),
                                 pack(PackedType::checkpoint, checkpoint.version, text)});
  return log_->update(std::move(update));
}

Result<std::optional<Checkpoint>> Journal::find_checkpoint(const ThreadId& thread,
                                                           std::uint8_t version) {
  const std::optional<Checkpoint> none;
  HOLDFAST_TRY(const auto stored, log_->get(checkpoint_key(thread.text())));
  if (!stored.has_value()) {
    return none;
  }
  auto unpacked = unpack(PackedType::checkpoint, *stored);
  if (!unpacked.ok() || unpacked.value().version != version) {
    return none;
  }
  std::string& text = unpacked.value().text;
  const std::size_t line = text.find('\n');
  const auto covered = parse_decimal(std::string_view(text).substr(0, line));
  HOLDFAST_TRY(const Revision current, revision(thread));
  if (line == std::string::npos || !covered.has_value() || current < Revision{*covered}) {
    return none;
  }
  return std::optional(Checkpoint{version, Revision{*covered}, text.substr(line + 1)});
}

Result<void> Journal::delete_checkpoint(const ThreadId& thread) {
  SideUpdate update;
  update.deletes.push_back(checkpoint_key(thread.text()));
  return log_->update(std::move(update));
}

}  // namespace holdfast

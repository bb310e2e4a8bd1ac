#include "storage/journal/journal_keys.h"

#include "base/packed.h"
#include "base/text.h"

namespace holdfast {

std::string seal_key(Position from) { return std::string(kSealPrefix) + sortable_hex(from.value); }

std::string segment_prefix(std::string_view thread) {
  return "segment/" + std::string(thread) + "/";
}

std::string segment_key(std::string_view thread, Revision first) {
  return segment_prefix(thread) + sortable_hex(first.value);
}

std::string thread_key(std::string_view thread) {
  return std::string(kThreadPrefix) + std::string(thread);
}

std::string checkpoint_key(std::string_view thread) { return "checkpoint/" + std::string(thread); }

std::string pack_sealed_revision(Revision revision) {
  return pack(PackedType::thread, 1, std::to_string(revision.value));
}

Result<Revision> unpack_sealed_revision(std::string_view thread, std::string_view bytes) {
  auto unpacked = unpack(PackedType::thread, bytes);
  const auto value =
      unpacked.ok() ? parse_decimal(unpacked.value().text) : std::optional<std::uint64_t>();
  if (!value.has_value()) {
    return Error{ErrorCode::invalid_journal_thread,
                 "the stored revision of thread " + std::string(thread) + " is damaged"}
        .with("thread", thread)
        .with("reason", "rev_mismatch");
  }
  return Revision{*value};
}

}  // namespace holdfast

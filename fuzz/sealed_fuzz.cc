// The values in the side table of a journal: packed values, segments, seal records, numbers of
// sealed entries, the directory. The first byte selects.
#include <algorithm>

#include "base/hash.h"
#include "base/packed.h"
#include "fuzz/target.h"
#include "storage/journal/journal_directory.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/journal_segment.h"

namespace holdfast::fuzz::sealed_fuzz {
namespace {

constexpr std::size_t kCheckAt = 2;
constexpr std::size_t kCheckSize = 16;

// With the checksum of the rest, which no input could guess.
std::string checked(std::string_view bytes) {
  std::string out(bytes);
  if (out.size() > kCheckAt + kCheckSize) {
    const Digest digest = sha256(std::string_view(out).substr(kCheckAt + kCheckSize));
    std::copy_n(reinterpret_cast<const char*>(digest.data()), kCheckSize, out.begin() + kCheckAt);
  }
  return out;
}

void check_packed(std::string_view bytes) {
  for (const PackedType type : {PackedType::segment, PackedType::seal, PackedType::checkpoint,
                                PackedType::directory, PackedType::thread}) {
    const auto unpacked = unpack(type, checked(bytes));
    if (unpacked.ok()) {
      const auto again = unpack(type, pack(type, unpacked.value().version, unpacked.value().text));
      require(again.ok() && again.value().text == unpacked.value().text &&
                  again.value().version == unpacked.value().version,
              "what is packed is unpacked as it was");
    } else {
      require(unpacked.error().code() == ErrorCode::corrupt_segment, "an invalid value is damage");
    }
  }
  require(!unpack(PackedType::thread, bytes).ok() || checked(bytes) == bytes,
          "nothing is taken without its checksum");
}

// A seal record that matches these entries, if there is one.
void check_rebuild(const std::vector<Entry>& entries) {
  SealRecord record;
  record.from = entries.front().position;
  record.to = entries.back().position.next();
  record.entries = entries.size();
  const auto batches = rebuild_batches(record, entries);
  require(!batches.ok(), "nothing leads to a chain of zeroes");
  require(batches.error().code() == ErrorCode::corrupt_segment, "a wrong chain is damage");
}

void check_segment(std::string_view key, std::string_view text) {
  const auto entries = unpack_segment(key, pack_segment(text));
  if (!entries.ok()) {
    require(is_damage(entries.error().code()), "an invalid segment is damage");
    return;
  }
  std::string again;
  for (const Entry& entry : entries.value()) {
    append_segment_line(again, entry.position, entry.index, entry.raw);
  }
  require(again == text || again == std::string(text) + "\n", "a segment is written as it is read");
  if (!entries.value().empty()) {
    check_rebuild(entries.value());
  }
}

void check_seal(std::string_view key, std::string_view text) {
  const auto record = unpack_seal(key, pack(PackedType::seal, 1, text));
  if (!record.ok()) {
    return;
  }
  const auto again = unpack_seal(key, pack_seal(record.value()));
  require(again.ok() && pack_seal(again.value()) == pack_seal(record.value()),
          "a seal is written as it is read");
  require(record.value().from < record.value().to, "a seal covers something");
}

void check_revision(std::string_view text) {
  const auto revision = unpack_sealed_revision("run:1", pack(PackedType::thread, 1, text));
  if (revision.ok()) {
    const auto again = unpack_sealed_revision("run:1", pack_sealed_revision(revision.value()));
    require(again.ok() && again.value() == revision.value(), "a number is written as it is read");
  }
}

void check_directory(std::string_view bytes) {
  auto directory = Directory::decode(bytes);
  if (!directory.ok()) {
    require(directory.error().code() == ErrorCode::corrupt_segment,
            "an invalid directory is damage");
    return;
  }
  // Only the order of the threads may differ.
  std::string given(bytes);
  std::string written = directory.value().encode();
  const auto again = Directory::decode(written);
  require(again.ok() && again.value().at() == directory.value().at(), "a directory is read back");
  std::sort(given.begin(), given.end());
  std::sort(written.begin(), written.end());
  require(given == written, "only the output of encode() is accepted");
  const Position behind = directory.value().at().next();
  if (behind > directory.value().at()) {
    directory.value().forget_below(behind);
    require(directory.value().thread_count() == 0, "all positions are up to the newest batch");
  }
}

void check(std::string_view input) {
  const char choice = fuzz::take_choice(input);
  if (choice == 'p') {
    check_packed(input);
  } else if (choice == 'd') {
    check_directory(input);
  } else if (choice == 't') {
    check_revision(input);
  } else {
    const std::string_view key = fuzz::take_line(input);
    choice == 's' ? check_segment(key, input) : check_seal(key, input);
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(sealed, check)

}  // namespace holdfast::fuzz::sealed_fuzz

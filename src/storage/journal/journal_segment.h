// Segments: sealed entries of one thread, compressed, with the position in the log that each of
// them had. A segment is packed text with one line per entry:
//   <position> <index in the batch> <the entry as it was in the batch body>
// From all segments of a seal the sealed batches can be rebuilt, byte for byte, and checked against
// the chain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "storage/entry/entry.h"
#include "storage/log/log.h"

namespace holdfast {

struct SealRecord {
  Position from;  // first position that is covered
  Position to;    // first position that is not
  Digest chain_before{};
  Digest chain_after{};
  std::uint64_t entries = 0;
  std::vector<std::string> segment_keys;

  static void visit(auto& self, auto& v) {
    v.required("from", self.from.value);
    v.required("to", self.to.value);
    v.required("chain_before", self.chain_before);
    v.required("chain_after", self.chain_after);
    v.required("entries", self.entries);
    v.required("segments", self.segment_keys);
  }
};

void append_segment_line(std::string& text, Position position, std::uint32_t index,
                         std::string_view raw);
std::string pack_segment(std::string_view text);
// The entries of a segment. invalid_journal_entry with reason thread_mismatch or seq_gap when
// they are not those of the key; corrupt_segment when the bytes are damaged.
Result<std::vector<Entry>> unpack_segment(std::string_view key, std::string_view bytes);

std::string pack_seal(const SealRecord& record);
Result<SealRecord> unpack_seal(std::string_view key, std::string_view bytes);

// Rebuilds the sealed batches from the entries of all segments of a seal. corrupt_segment if they
// do not lead from chain_before to chain_after.
Result<std::vector<Batch>> rebuild_batches(const SealRecord& record, std::vector<Entry> entries);

}  // namespace holdfast

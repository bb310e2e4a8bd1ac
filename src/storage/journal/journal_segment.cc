#include "storage/journal/journal_segment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fields.h"
#include "base/packed.h"
#include "base/text.h"
#include "holdfast/assert.h"
#include "storage/journal/journal_keys.h"
#include "storage/log/hash_chain.h"

namespace holdfast {

namespace {

constexpr std::uint8_t kSegmentVersion = 1;
constexpr std::uint8_t kSealVersion = 1;

Error damaged(std::string_view key, std::string_view what) {
  return Error{ErrorCode::corrupt_segment, fmt::format("{}: {}", key, what)}.with("key", key);
}

Error wrong_entry(std::string_view key, std::string_view reason, const Entry& entry) {
  return Error{ErrorCode::invalid_journal_entry,
               fmt::format("{}: holds entry {} of thread {}", key, entry.seq.value, entry.thread)}
      .with("key", key)
      .with("seq", entry.seq.value)
      .with("reason", reason);
}

struct SegmentName {
  std::string_view thread;
  Revision first;
};

// "segment/<thread>/<seq>"
std::optional<SegmentName> parse_segment_key(std::string_view key) {
  const std::size_t first = key.find('/');
  const std::size_t last = key.rfind('/');
  if (last == std::string_view::npos || first == last) {
    return std::nullopt;
  }
  const auto seq = parse_sortable_hex(key.substr(last + 1));
  if (!seq.has_value()) {
    return std::nullopt;
  }
  return SegmentName{key.substr(first + 1, last - first - 1), Revision{*seq}};
}

// One line of a segment, without its line break.
Result<Entry> parse_line(std::string_view key, std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) {
    return damaged(key, "a line is cut off");
  }
  const auto position = parse_decimal(line.substr(0, first));
  const auto index = parse_decimal(line.substr(first + 1, second - first - 1));
  if (!position.has_value() || !index.has_value() || *index > UINT32_MAX) {
    return damaged(key, "a line has no position");
  }
  HOLDFAST_TRY(const EntryView view,
               BodyScanner(Position{*position}, line.substr(second + 1)).only());
  return Entry{view, Position{*position}, static_cast<std::uint32_t>(*index), nullptr};
}

}  // namespace

void append_segment_line(std::string& text, Position position, std::uint32_t index,
                         std::string_view raw) {
  fmt::format_to(std::back_inserter(text), "{} {} ", position.value, index);
  text += raw;
  text += '\n';
}

std::string pack_segment(std::string_view text) {
  return pack(PackedType::segment, kSegmentVersion, text);
}

Result<std::vector<Entry>> unpack_segment(std::string_view key, std::string_view bytes) {
  const auto name = parse_segment_key(key);
  if (!name.has_value()) {
    return damaged(key, "the key does not name a thread and a sequence number");
  }
  auto unpacked = unpack(PackedType::segment, bytes);
  if (!unpacked.ok()) {
    return damaged(key, unpacked.error().message());
  }
  const auto owner = std::make_shared<const std::string>(std::move(unpacked.value().text));
  std::vector<Entry> entries;
  Revision expected = name->first;
  for (std::size_t at = 0; at < owner->size();) {
    const std::size_t end = std::min(owner->find('\n', at), owner->size());
    HOLDFAST_TRY(Entry entry, parse_line(key, std::string_view(*owner).substr(at, end - at)));
    if (entry.thread != name->thread) {
      return wrong_entry(key, "thread_mismatch", entry);
    }
    if (entry.seq != expected) {
      return wrong_entry(key, "seq_gap", entry);
    }
    expected = expected.next();
    entry.owner = owner;
    entries.push_back(std::move(entry));
    at = end + 1;
  }
  return entries;
}

std::string pack_seal(const SealRecord& record) {
  const auto json = to_json(record);
  HOLDFAST_ASSERT(json.ok());
  return pack(PackedType::seal, kSealVersion, json.value().view());
}

Result<SealRecord> unpack_seal(std::string_view key, std::string_view bytes) {
  auto unpacked = unpack(PackedType::seal, bytes);
  if (!unpacked.ok()) {
    return damaged(key, unpacked.error().message());
  }
  auto record = from_json<SealRecord>(unpacked.value().text);
  if (!record.ok() || key != seal_key(record.value().from) ||
      record.value().to <= record.value().from) {
    return damaged(key, "it is not the record of a seal");
  }
  return record;
}

Result<std::vector<Batch>> rebuild_batches(const SealRecord& record, std::vector<Entry> entries) {
  const std::string key = seal_key(record.from);
  std::sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
    return std::pair(left.position, left.index) < std::pair(right.position, right.index);
  });
  std::vector<Batch> batches;
  Digest chain = record.chain_before;
  Position position = record.from;
  for (std::size_t at = 0; at < entries.size();) {
    std::string body = "[";
    for (; at < entries.size() && entries[at].position == position; ++at) {
      body += body.size() > 1 ? "," : "";
      body += entries[at].raw;
    }
    body += ']';
    if (body.size() == 2) {
      return damaged(key, fmt::format("batch {} is missing", position.value));
    }
    chain = next_chain(chain, position, sha256(body));
    batches.push_back(Batch{position, std::move(body), chain});
    position = position.next();
  }
  if (position != record.to || chain != record.chain_after) {
    return damaged(key, "the sealed entries do not lead to the recorded chain hash");
  }
  return batches;
}

}  // namespace holdfast

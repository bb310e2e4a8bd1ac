// Entries and their form inside a batch body. A body is a JSON array of
//   {"thread":"run:1","seq":0,"kind":"run_started","at":1767225600000,"data":{...}}
// with exactly these members in exactly this order and no white space between tokens, so that
// the same entries always give the same bytes. Anything else is corruption.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json_value.h"
#include "holdfast/result.h"
#include "storage/entry/position.h"
#include "storage/entry/thread_id.h"

namespace holdfast {

inline constexpr std::size_t kMaxKindBytes = 64;
inline constexpr std::size_t kMaxDataBytes = 16U << 20U;

// What a caller appends. kind: a lower-case letter, then lower-case letters, digits and '_'.
// data: a JSON object.
struct NewEntry {
  std::string kind;
  TimeMs at;
  JsonText data;
};

// One entry of a body; the views point into the body.
struct EntryView {
  std::string_view thread;
  Revision seq;
  std::string_view kind;
  TimeMs at;
  std::string_view data;
  std::string_view raw;  // the whole entry
};

// An entry that keeps the text it points into alive.
struct Entry : EntryView {
  Position position;
  std::uint32_t index = 0;  // its index in the batch
  std::shared_ptr<const std::string> owner;
};

// missing_fields if kind is empty or at is not set; invalid_argument, invalid_json or too_large if
// a field cannot be stored.
Result<void> check_new_entry(const NewEntry& entry);

// The part of an entry that does not depend on its position: ,"kind":…}
void append_entry_tail(std::string& out, const NewEntry& entry);
// Its beginning, up to the data: ,"kind":…,"at":…,"data":
void append_tail_head(std::string& out, std::string_view kind, TimeMs at);
// The part that does: {"thread":…,"seq":…
void append_entry_head(std::string& out, std::string_view thread, Revision seq);

// Walks the entries of a body in order. Errors are invalid_journal_entry with position, index
// and reason: invalid_refs (thread or seq), invalid_payload (kind, data or shape),
// invalid_timestamp (at), missing_data.
class BodyScanner {
 public:
  BodyScanner(Position position, std::string_view body) : position_(position), body_(body) {}

  // The next entry; empty at the end of the body.
  Result<std::optional<EntryView>> next();
  // For a text that is one entry, as in a segment.
  Result<EntryView> only();
  // The number of entries returned so far.
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  Error invalid(std::string_view reason, std::string_view what) const;
  bool take(std::string_view literal);
  std::optional<std::string_view> take_plain_string();
  std::optional<std::uint64_t> take_integer();
  std::optional<std::string_view> take_object();
  Result<EntryView> take_entry();

  Position position_;
  std::string_view body_;
  std::size_t at_ = 0;
  std::uint32_t count_ = 0;
  bool done_ = false;
};

}  // namespace holdfast

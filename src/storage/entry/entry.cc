#include "storage/entry/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace holdfast {

namespace {

bool is_kind(std::string_view kind) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !kind.empty() && kind.size() <= kMaxKindBytes && lower(kind.front()) &&
         std::all_of(kind.begin(), kind.end(),
                     [&](char c) { return lower(c) || digit(c) || c == '_'; });
}

// The characters that matter while looking for the end of an object.
constexpr std::array<bool, 256> structural() {
  std::array<bool, 256> table{};
  for (const char c : {'"', '{', '}', '[', ']'}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr auto kStructural = structural();

}  // namespace

Result<void> check_new_entry(const NewEntry& entry) {
  if (entry.kind.empty() || entry.at.value == 0) {
    const std::string fields = !entry.kind.empty()   ? "at"
                               : entry.at.value != 0 ? "kind"
                                                     : "kind, at";
    return Error{ErrorCode::missing_fields, "an entry lacks required fields: " + fields}.with(
        "fields", fields);
  }
  if (!is_kind(entry.kind)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("\"{}\" is not an entry kind; one looks like run_started (lower-case "
                             "letters, digits and _, at most {} bytes)",
                             entry.kind, kMaxKindBytes)};
  }
  if (entry.at.value < 0) {
    return Error{ErrorCode::invalid_argument, "an entry cannot be older than 1970"};
  }
  if (!entry.data.is_object()) {
    return Error{ErrorCode::invalid_json, "the data of an entry must be a JSON object"};
  }
  if (entry.data.view().size() > kMaxDataBytes) {
    return Error{ErrorCode::too_large,
                 fmt::format("the data of a {} entry has {} bytes, the limit is {}", entry.kind,
                             entry.data.view().size(), kMaxDataBytes)};
  }
  return {};
}

namespace {

void append_number(std::string& out, std::uint64_t value) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_entry_head(std::string& out, std::string_view thread, Revision seq) {
  out += R"({"thread":")";
  out += thread;
  out += R"(","seq":)";
  append_number(out, seq.value);
}

void append_entry_tail(std::string& out, const NewEntry& entry) {
  append_tail_head(out, entry.kind, entry.at);
  out += entry.data.view();
  out += '}';
}

void append_tail_head(std::string& out, std::string_view kind, TimeMs at) {
  out += R"(,"kind":")";
  out += kind;
  out += R"(","at":)";
  append_number(out, static_cast<std::uint64_t>(at.value));
  out += R"(,"data":)";
}

Error BodyScanner::invalid(std::string_view reason, std::string_view what) const {
  return Error{ErrorCode::invalid_journal_entry,
               fmt::format("entry {} of batch {}: {}", count_, position_.value, what)}
      .with("position", position_.value)
      .with("index", count_)
      .with("reason", reason);
}

bool BodyScanner::take(std::string_view literal) {
  if (body_.substr(at_, literal.size()) != literal) {
    return false;
  }
  at_ += literal.size();
  return true;
}

// Names never need escapes, so a backslash is as wrong as a missing quote.
std::optional<std::string_view> BodyScanner::take_plain_string() {
  const std::size_t end = body_.find('"', at_);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view text = body_.substr(at_, end - at_);
  at_ = end + 1;
  return text;
}

std::optional<std::uint64_t> BodyScanner::take_integer() {
  std::uint64_t value = 0;
  const char* begin = body_.data() + at_;
  const auto [end, failed] = std::from_chars(begin, body_.data() + body_.size(), value);
  const bool leading_zero = end - begin > 1 && *begin == '0';
  if (failed != std::errc{} || leading_zero ||
      value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

// Most of the time of reading a journal is spent here. The position is a local variable, because
// the compiler would store a member for every character.
std::optional<std::string_view> BodyScanner::take_object() {
  const std::string_view body = body_;
  std::size_t at = at_;
  std::size_t depth = 0;
  while (at < body.size()) {
    const char c = body[at++];
    if (!kStructural[static_cast<unsigned char>(c)]) {
      continue;
    }
    if (c == '"') {
      while (at < body.size() && body[at] != '"') {
        at += body[at] == '\\' ? 2U : 1U;
      }
      ++at;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (--depth == 0) {
      const std::string_view object = body.substr(at_, at - at_);
      at_ = at;
      return object;
    }
  }
  return std::nullopt;
}

Result<EntryView> BodyScanner::take_entry() {
  EntryView entry;
  const std::size_t begin = at_;
  if (!take("{")) {
    return invalid("invalid_payload", "it is not an object");
  }
  if (!take(R"("thread":")")) {
    return invalid("invalid_refs", "thread is missing");
  }
  const auto thread = take_plain_string();
  if (!thread.has_value() || !is_thread_id(*thread)) {
    return invalid("invalid_refs", "thread is not a thread name");
  }
  const auto seq = take(R"(,"seq":)") ? take_integer() : std::nullopt;
  if (!seq.has_value()) {
    return invalid("invalid_refs", "seq is missing or not a number");
  }
  const auto kind = take(R"(,"kind":")") ? take_plain_string() : std::nullopt;
  if (!kind.has_value() || !is_kind(*kind)) {
    return invalid("invalid_payload", "kind is missing or not an entry kind");
  }
  const auto at = take(R"(,"at":)") ? take_integer() : std::nullopt;
  if (!at.has_value()) {
    return invalid("invalid_timestamp", "at is missing or not a time in milliseconds");
  }
  if (!take(R"(,"data":)")) {
    return invalid("missing_data", "data is missing");
  }
  const auto data = body_.substr(at_, 1) == "{" ? take_object() : std::nullopt;
  if (!data.has_value() || !take("}")) {
    return invalid("invalid_payload", "data is not an object");
  }
  entry.thread = *thread;
  entry.seq = Revision{*seq};
  entry.kind = *kind;
  entry.at = TimeMs{static_cast<std::int64_t>(*at)};
  entry.data = *data;
  entry.raw = body_.substr(begin, at_ - begin);
  return entry;
}

Result<std::optional<EntryView>> BodyScanner::next() {
  if (done_) {
    return std::optional<EntryView>();
  }
  if (!take(count_ == 0 ? "[" : ",")) {
    return invalid("invalid_payload", "the body is not an array of entries");
  }
  HOLDFAST_TRY(const EntryView entry, take_entry());
  ++count_;
  if (body_.substr(at_) == "]") {
    done_ = true;
  }
  return std::optional(entry);
}

Result<EntryView> BodyScanner::only() {
  HOLDFAST_TRY(const EntryView entry, take_entry());
  if (at_ != body_.size()) {
    return invalid("invalid_payload", "it is followed by something else");
  }
  return entry;
}

}  // namespace holdfast

#include "base/fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/encoding.h"

namespace holdfast {

namespace {

template <typename T>
void write_number(std::string& out, T value) {
  std::array<char, 24> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

template <typename T>
bool read_number(std::string_view slice, T& value) {
  const auto [end, error] = std::from_chars(slice.data(), slice.data() + slice.size(), value);
  return error == std::errc() && end == slice.data() + slice.size();
}

}  // namespace

void write_value(std::string& out, const SharedText& value) {
  append_json_string(out, value.view());
}
void write_value(std::string& out, const std::string& value) { append_json_string(out, value); }
void write_value(std::string& out, const Payload& value) { out += value.view(); }
void write_value(std::string& out, const Uuid& value) {
  out += '"';
  append_uuid(out, value);
  out += '"';
}
void write_value(std::string& out, const Digest& value) {
  const std::size_t begin = out.size();
  out.resize(begin + 2 + value.size() * 2, '"');
  write_hex(value, out.data() + begin + 1);
}
void write_value(std::string& out, TimeMs value) { write_number(out, value.value); }
void write_value(std::string& out, bool value) { out += value ? "true" : "false"; }
void write_value(std::string& out, std::uint32_t value) { write_number(out, value); }
void write_value(std::string& out, std::uint64_t value) { write_number(out, value); }
void write_value(std::string& out, std::int64_t value) { write_number(out, value); }

bool read_value(std::string_view slice, SharedText& value) {
  const auto text = json_string_value(slice);
  value = SharedText(text.value_or(""));
  return text.has_value();
}
bool read_value(std::string_view slice, std::string& value) {
  auto text = json_string_value(slice);
  if (!text.has_value()) {
    return false;
  }
  value = *std::move(text);
  return true;
}
bool read_value(std::string_view slice, Payload& value) {
  value = Payload::trusted(slice);
  return true;
}
bool read_value(std::string_view slice, Uuid& value) {
  const auto text = json_string_value(slice);
  const auto parsed = parse_uuid(text.value_or(""));
  value = parsed.ok() ? parsed.value() : Uuid{};
  return parsed.ok();
}
bool read_value(std::string_view slice, Digest& value) {
  const auto bytes = from_hex(json_string_value(slice).value_or(""));
  if (!bytes.ok() || bytes.value().size() != value.size()) {
    return false;
  }
  std::copy(bytes.value().begin(), bytes.value().end(), value.begin());
  return true;
}
bool read_value(std::string_view slice, TimeMs& value) { return read_number(slice, value.value); }
bool read_value(std::string_view slice, bool& value) {
  value = slice == "true";
  return value || slice == "false";
}
bool read_value(std::string_view slice, std::uint32_t& value) { return read_number(slice, value); }
bool read_value(std::string_view slice, std::uint64_t& value) { return read_number(slice, value); }
bool read_value(std::string_view slice, std::int64_t& value) { return read_number(slice, value); }

FieldReader::FieldReader(std::string_view text) {
  if (!text.starts_with('{')) {
    return;
  }
  members_.reserve(16);
  JsonSlicer slicer(text);
  while (const auto member = slicer.next()) {
    members_.push_back(*member);
  }
  valid_ = slicer.valid();
}

// Fields are mostly read in the order in which they are written, so the search wraps around.
std::optional<std::string_view> FieldReader::find(std::string_view name) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::size_t at = (cursor_ + i) % members_.size();
    if (members_[at].name == name) {
      cursor_ = at + 1;
      if (members_[at].value == "null") {
        return std::nullopt;
      }
      return members_[at].value;
    }
  }
  return std::nullopt;
}

Result<void> FieldReader::finish() && {
  if (!valid_) {
    return Error{ErrorCode::invalid_json, "it is not a JSON object"};
  }
  if (!missing_.empty()) {
    return Error{ErrorCode::missing_fields, "required fields have no value: " + missing_}.with(
        "fields", missing_);
  }
  if (!ill_typed_.empty()) {
    return Error{ErrorCode::invalid_argument, "fields have the wrong type: " + ill_typed_}.with(
        "fields", ill_typed_);
  }
  return {};
}

}  // namespace holdfast

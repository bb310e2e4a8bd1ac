#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json_value.h"
#include "base/text.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

constexpr bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// For an ASCII byte that is not plain.
std::string escape_for(unsigned char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      return fmt::format("\\u{:04x}", byte);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view value) {
  out += '"';
  std::size_t plain_from = 0;
  std::size_t at = 0;
  const auto write_instead = [&](std::string_view text) {
    out.append(value, plain_from, at - plain_from);
    out += text;
    plain_from = ++at;
  };
  while (at < value.size()) {
    const auto byte = static_cast<unsigned char>(value[at]);
    if (is_plain(byte)) {
      ++at;
    } else if (byte < 0x80) {
      write_instead(escape_for(byte));
    } else if (const std::size_t length = utf8_sequence_length(value.substr(at)); length > 0) {
      at += length;
    } else {
      write_instead(kReplacement);
    }
  }
  out.append(value, plain_from);
  out += '"';
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  HOLDFAST_ASSERT(open_.empty() ? out_.empty() : open_.back() == '[');
  if (comma_) {
    out_ += ',';
  }
}

JsonWriter& JsonWriter::begin(char open) {
  before_value();
  out_ += open;
  open_.push_back(open);
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end(char open, char close) {
  HOLDFAST_ASSERT(!open_.empty() && open_.back() == open && !after_key_);
  open_.pop_back();
  out_ += close;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  HOLDFAST_ASSERT(!open_.empty() && open_.back() == '{' && !after_key_);
  if (comma_) {
    out_ += ',';
  }
  append_json_string(out_, name);
  out_ += ':';
  after_key_ = true;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view value) {
  before_value();
  append_json_string(out_, value);
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::put(std::string_view json) {
  before_value();
  out_ += json;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) { return put(fmt::format_int(value).c_str()); }

JsonWriter& JsonWriter::unsigned_integer(std::uint64_t value) {
  return put(fmt::format_int(value).c_str());
}

JsonWriter& JsonWriter::number(double value) {
  return std::isfinite(value) ? put(fmt::format("{}", value)) : null();
}

JsonWriter& JsonWriter::boolean(bool value) { return put(value ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return put("null"); }

JsonWriter& JsonWriter::raw(const JsonText& value) { return put(value.view()); }

JsonWriter& JsonWriter::member(std::string_view name, std::string_view value) {
  return key(name).string(value);
}
JsonWriter& JsonWriter::member(std::string_view name, const char* value) {
  return key(name).string(value);
}
JsonWriter& JsonWriter::member(std::string_view name, const std::string& value) {
  return key(name).string(value);
}
JsonWriter& JsonWriter::member(std::string_view name, std::uint64_t value) {
  return key(name).unsigned_integer(value);
}
JsonWriter& JsonWriter::member(std::string_view name, std::int64_t value) {
  return key(name).integer(value);
}
JsonWriter& JsonWriter::member(std::string_view name, double value) {
  return key(name).number(value);
}
JsonWriter& JsonWriter::member(std::string_view name, bool value) {
  return key(name).boolean(value);
}
JsonWriter& JsonWriter::member(std::string_view name, const JsonText& value) {
  return key(name).raw(value);
}

std::string JsonWriter::take() && {
  HOLDFAST_ASSERT(open_.empty() && !after_key_ && !out_.empty());
  return std::move(out_);
}

JsonText JsonWriter::take_text() && { return JsonText::trusted(std::move(*this).take()); }

}  // namespace holdfast

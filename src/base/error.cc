#include "holdfast/error.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

constexpr std::array kTable{
#define HOLDFAST_ROW(name, number, http, exit, next, line) \
  ErrorInfo{ErrorCode::name, #name, http, exit, WhatNext::next, line},
    HOLDFAST_ERROR_CODES(HOLDFAST_ROW)
#undef HOLDFAST_ROW
};

}  // namespace

std::span<const ErrorInfo> error_table() { return kTable; }

const ErrorInfo& error_info(ErrorCode code) {
  const auto* row = std::find_if(kTable.begin(), kTable.end(),
                                 [code](const ErrorInfo& info) { return info.code == code; });
  HOLDFAST_ASSERT(row != kTable.end());
  return *row;
}

bool is_damage(ErrorCode code) { return error_info(code).exit_code == 3; }

std::string_view to_string(WhatNext next) {
  static constexpr std::array<std::string_view, 4> kNames{"permanent", "retry", "refresh",
                                                          "in_doubt"};
  return kNames[static_cast<std::size_t>(next)];
}

Error::Error(ErrorCode code, std::string message)
    : code_(code), what_next_(error_info(code).what_next), message_(std::move(message)) {}

std::string_view Error::field(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

Error&& Error::with(std::string_view name, std::string_view value) && {
  fields_.emplace_back(name, value);
  return std::move(*this);
}

Error&& Error::with(std::string_view name, std::uint64_t value) && {
  fields_.emplace_back(name, std::to_string(value));
  return std::move(*this);
}

Error&& Error::with(WhatNext next) && {
  what_next_ = next;
  return std::move(*this);
}

Error&& Error::in(std::string frame) && {
  context_.push_back(std::move(frame));
  return std::move(*this);
}

std::string Error::text() const {
  std::string line;
  for (auto frame = context_.rbegin(); frame != context_.rend(); ++frame) {
    line += *frame;
    line += ": ";
  }
  line += message_;
  return line;
}

std::string Error::json() const {
  JsonWriter writer;
  writer.begin_object();
  writer.member("code", error_info(code_).name);
  writer.member("number", static_cast<std::uint64_t>(code_));
  writer.member("message", message_);
  writer.key("context").begin_array();
  for (auto frame = context_.rbegin(); frame != context_.rend(); ++frame) {
    writer.string(*frame);
  }
  writer.end_array();
  writer.member("what_next", to_string(what_next_));
  writer.key("fields").begin_object();
  for (const auto& [name, value] : fields_) {
    writer.member(name, value);
  }
  writer.end_object();
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace holdfast

// Encodes a variant of facts as entries and decodes them, for every protocol core.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/fields.h"
#include "storage/entry/entry.h"

namespace holdfast {

// Rules that the fields alone cannot express; a fact with such a rule has its own overload.
template <typename Fact>
Result<void> check_fact(const Fact& /*fact*/) {
  return {};
}

template <typename... Facts>
std::string_view fact_kind(const std::variant<Facts...>& fact) {
  return std::visit([](const auto& known) { return std::decay_t<decltype(known)>::kKind; }, fact);
}

// Appends the JSON form of a fact.
template <typename Fact>
Result<void> append_fact(std::string& out, const Fact& fact) {
  Result<void> written = append_json(out, fact);
  if (written.ok()) {
    written = check_fact(fact);
  }
  if (!written.ok()) {
    return std::move(written).error().with("kind", Fact::kKind).in(std::string(Fact::kKind));
  }
  return {};
}

template <typename... Facts>
Result<void> append_fact(std::string& out, const std::variant<Facts...>& fact) {
  return std::visit([&out](const auto& known) { return append_fact(out, known); }, fact);
}

template <typename Fact>
Result<NewEntry> encode_fact(const Fact& fact, TimeMs at) {
  std::string data;
  data.reserve(kUsualBytes);
  HOLDFAST_CHECK(append_fact(data, fact));
  return NewEntry{std::string(Fact::kKind), at, JsonText::trusted(std::move(data))};
}

template <typename... Facts>
Result<NewEntry> encode_fact(const std::variant<Facts...>& fact, TimeMs at) {
  return std::visit([at](const auto& known) { return encode_fact(known, at); }, fact);
}

template <typename Variant>
struct FactDecoder;

template <typename... Facts>
struct FactDecoder<std::variant<Facts...>> {
  using Variant = std::variant<Facts...>;

  static Result<Variant> decode(std::string_view kind, std::string_view data) {
    Result<Variant> decoded =
        Error{ErrorCode::unknown_entry_type, "no fact has the kind " + std::string(kind)}.with(
            "kind", kind);
    static_cast<void>(((Facts::kKind == kind && (decoded = decode_as<Facts>(data), true)) || ...));
    return decoded;
  }

 private:
  template <typename Fact>
  static Result<Variant> decode_as(std::string_view data) {
    auto fact = from_json<Fact>(data);
    if (!fact.ok()) {
      return std::move(fact).error().with("kind", Fact::kKind).in(std::string(Fact::kKind));
    }
    const Result<void> checked = check_fact(fact.value());
    if (!checked.ok()) {
      Error error = checked.error();
      return std::move(error).with("kind", Fact::kKind).in(std::string(Fact::kKind));
    }
    return Variant(std::move(fact).value());
  }
};

}  // namespace holdfast

// Every field type of the wire, in both directions, on top of postcard.h. FieldEncoder and
// FieldDecoder are the arguments of visit_fields; structs encode as their fields.
#pragma once

#include "mesh/ops/payload_fields.h"
#include "mesh/ops/postcard.h"

namespace holdfast::mesh {

template <>
inline constexpr std::uint32_t kEnumSize<EntityType> = 9;
template <>
inline constexpr std::uint32_t kEnumSize<ClaimType> = 7;
template <>
inline constexpr std::uint32_t kEnumSize<ClaimStatus> = 7;
template <>
inline constexpr std::uint32_t kEnumSize<AssertionType> = 6;
template <>
inline constexpr std::uint32_t kEnumSize<EpisodeStatus> = 3;
template <>
inline constexpr std::uint32_t kEnumSize<ActionStatus> = 8;

class FieldEncoder {
 public:
  explicit FieldEncoder(PostcardWriter& out) : out_(out) {}

  template <typename... T>
  void operator()(const T&... fields) {
    (put(fields), ...);
  }

  void put(std::uint64_t value) { out_.varint(value); }
  void put(std::uint32_t value) { out_.varint(value); }
  void put(bool value) { out_.varint(value ? 1 : 0); }
  void put(float value) { out_.fixed32(std::bit_cast<std::uint32_t>(value)); }
  void put(double value) { out_.fixed64(std::bit_cast<std::uint64_t>(value)); }
  void put(const std::string& value) { out_.text(value); }
  void put(const Bytes& value) {
    out_.varint(value.size());
    out_.raw(value);
  }
  void put(const Digest& value) { out_.raw(value); }
  void put(NodeId value) { out_.varint(value.value); }
  template <typename Tag>
  void put(const Id<Tag>& value) {
    out_.raw(value.bytes);
  }
  template <typename A, typename B>
  void put(const std::pair<A, B>& value) {
    put(value.first);
    put(value.second);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    out_.varint(value.has_value() ? 1 : 0);
    if (value.has_value()) {
      put(*value);
    }
  }
  template <typename T>
  void put(const std::vector<T>& value) {
    out_.varint(value.size());
    for (const T& item : value) {
      put(item);
    }
  }
  void put(const std::map<std::string, std::string>& value) {
    out_.varint(value.size());
    for (const auto& [key, text] : value) {
      put(key);
      put(text);
    }
  }
  template <typename... T>
  void put(const std::variant<T...>& value) {
    out_.varint(value.index());
    std::visit([&](const auto& alternative) { put(alternative); }, value);
  }
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      out_.varint(static_cast<std::uint64_t>(value));
    } else {
      visit_fields(value, *this);
    }
  }

 private:
  PostcardWriter& out_;
};

class FieldDecoder {
 public:
  explicit FieldDecoder(PostcardReader& in) : in_(in) {}

  template <typename... T>
  void operator()(T&... fields) {
    (get(fields), ...);
  }

  void get(std::uint64_t& value) { value = in_.varint(); }
  void get(std::uint32_t& value) {
    value = static_cast<std::uint32_t>(in_.varint(std::numeric_limits<std::uint32_t>::max()));
  }
  void get(bool& value) { value = in_.flag(); }
  void get(float& value) { value = number(std::bit_cast<float>(in_.fixed32())); }
  void get(double& value) { value = number(std::bit_cast<double>(in_.fixed64())); }
  void get(std::string& value) { value = in_.text(); }
  void get(Bytes& value) { value = in_.byte_string(); }
  void get(Digest& value) { in_.raw(value); }
  void get(NodeId& value) { value.value = in_.varint(); }
  template <typename Tag>
  void get(Id<Tag>& value) {
    in_.raw(value.bytes);
  }
  template <typename A, typename B>
  void get(std::pair<A, B>& value) {
    get(value.first);
    get(value.second);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    if (in_.flag()) {
      get(value.emplace());
    }
  }
  template <typename T>
  void get(std::vector<T>& value) {
    for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
      get(value.emplace_back());
    }
  }
  void get(std::map<std::string, std::string>& value) {
    for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
      std::string key = in_.text();
      if (!value.empty() && key <= value.rbegin()->first) {
        in_.fail("the keys of a map do not ascend");
      }
      value.emplace_hint(value.end(), std::move(key), in_.text());
    }
  }
  template <typename... T>
  void get(std::variant<T...>& value) {
    alternative(value, in_.varint(), std::index_sequence_for<T...>());
  }
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      static_assert(kEnumSize<T> > 0);
      value = static_cast<T>(in_.varint(kEnumSize<T> - 1));
    } else {
      visit_fields(value, *this);
    }
  }

 private:
  template <typename T>
  T number(T value) {
    if (value != value) {
      in_.fail("a number is NaN");
    }
    return value;
  }
  template <typename V, std::size_t... I>
  void alternative(V& value, std::uint64_t tag, std::index_sequence<I...>) {
    const bool known = ((tag == I ? (get(value.template emplace<I>()), true) : false) || ...);
    if (!known) {
      in_.fail("an unknown tag");
    }
  }

  PostcardReader& in_;
};

}  // namespace holdfast::mesh

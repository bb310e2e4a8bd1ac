// Laws of the canonical form: it is its own canonical form, it has the same value, and neither the
// order of members nor their spelling changes it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/json_writer.h"
#include "runs/language/data/canonical_json.h"
#include "runs/language/data/json_text.h"

namespace holdfast::canonical_json_prop_test {
namespace {

// A value before it is written, so that it can be written in more than one way.
struct Value {
  std::string scalar;              // JSON; empty: a list or an object
  std::vector<std::string> names;  // of an object, each one once
  std::vector<Value> parts;
  bool object = false;
};

std::string any_string() {
  static const std::vector<std::string> kPieces{
      "a", "b", "Z", "!", "\"", "\\", "/", "\n", "\x01", "\xC3\xA4", "\xF0\x9F\x98\x80", " "};
  std::string text;
  for (const std::string& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces))) {
    text += piece;
  }
  return text;
}

std::string any_scalar() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return *rc::gen::element<std::string>("null", "true", "false");
    case 1:
      return std::to_string(*rc::gen::arbitrary<std::int64_t>());
    case 2:
      return std::to_string(*rc::gen::arbitrary<std::uint64_t>());
    case 3:
      return std::move(JsonWriter().number(*rc::gen::arbitrary<double>())).take();
    case 4:
      return fmt::format("{}.{}e{}", *rc::gen::inRange(-99, 99), *rc::gen::inRange(0, 999),
                         *rc::gen::inRange(-320, 320));
    default:
      return std::move(JsonWriter().string(any_string())).take();
  }
}

Value any_value(int depth) {
  Value value;
  if (depth == 0 || *rc::gen::inRange(0, 3) == 0) {
    value.scalar = any_scalar();
    return value;
  }
  value.object = *rc::gen::arbitrary<bool>();
  const int size = *rc::gen::inRange(0, 5);
  for (int i = 0; i < size; ++i) {
    const std::string name = value.object ? any_string() : "";
    if (value.object && std::count(value.names.begin(), value.names.end(), name) > 0) {
      continue;
    }
    value.names.push_back(name);
    value.parts.push_back(any_value(depth - 1));
  }
  return value;
}

// Every character that may be escaped is.
std::string escaped(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x80 ? fmt::format("\\u{:04x}", byte) : std::string(1, c);
  }
  return out + "\"";
}

enum class Manner : std::uint8_t { plain, shuffled };

std::string written(const Value& value, Manner manner) {
  const bool shuffled = manner == Manner::shuffled;
  const std::string space = shuffled ? *rc::gen::element<std::string>("", " ", "\n\t") : "";
  if (!value.scalar.empty()) {
    return space + value.scalar + space;
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < value.parts.size(); ++i) {
    std::string part = written(value.parts[i], manner);
    if (value.object) {
      const std::string name = shuffled ? escaped(value.names[i])
                                        : std::move(JsonWriter().string(value.names[i])).take();
      part = fmt::format("{}{}{}:{}", space, name, space, part);
    }
    parts.push_back(std::move(part));
  }
  if (shuffled && value.object) {
    for (std::size_t i = 1; i < parts.size(); ++i) {
      std::swap(parts[i], parts[*rc::gen::inRange<std::size_t>(0, i + 1)]);
    }
  }
  return fmt::format("{}{}{}{}{}", space, value.object ? '{' : '[', fmt::join(parts, ","),
                     value.object ? '}' : ']', space);
}

TEST(CanonicalJsonLaws, the_canonical_form_is_its_own_canonical_form) {
  EXPECT_TRUE(rc::check([] {
    const std::string json = written(any_value(4), Manner::plain);
    const std::string once = canonical_json(json);
    RC_ASSERT(canonical_json(once) == once);
    RC_ASSERT(JsonText::parse(once).ok());
  }));
}

TEST(CanonicalJsonLaws, order_of_members_escapes_and_white_space_do_not_matter) {
  EXPECT_TRUE(rc::check([] {
    const Value value = any_value(4);
    RC_ASSERT(canonical_json(written(value, Manner::shuffled)) ==
              canonical_json(written(value, Manner::plain)));
  }));
}

TEST(CanonicalJsonLaws, doubles_keep_their_value) {
  EXPECT_TRUE(rc::check([] {
    const auto bits = *rc::gen::arbitrary<std::uint64_t>();
    double number = 0;
    static_assert(sizeof(number) == sizeof(bits));
    std::memcpy(&number, &bits, sizeof(number));
    RC_PRE(std::isfinite(number));
    RC_ASSERT(std::strtod(canonical_json(fmt::format("{:.25e}", number)).c_str(), nullptr) ==
              number);
  }));
}

TEST(JsonTextLaws, a_value_is_the_same_after_writing_it) {
  EXPECT_TRUE(rc::check([] {
    const auto json = Json::parse(written(any_value(4), Manner::shuffled));
    RC_PRE(json.ok());
    const std::string text = json_text(json.value());
    const auto again = Json::parse(text);
    RC_ASSERT(again.ok());
    RC_ASSERT(again.value().kind() == json.value().kind());
    RC_ASSERT(JsonText::parse(text).value().view() == text);
  }));
}

}  // namespace
}  // namespace holdfast::canonical_json_prop_test

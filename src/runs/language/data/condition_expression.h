// Condition: a test on the context of a run.
//
//   {"path":"total","greater":100}              greater, less: numbers; also greater_or_equal,
//   {"path":"country","in":["DE","FR"]}         less_or_equal
//   {"path":"vip","equals":true}                any JSON value; objects whatever their key order
//   {"path":"note","exists":false}              null exists
//   {"path":"status","not_equals":"open"}       also when the path is missing
//   {"all":[...]} {"any":[...]} {"not":{...}}   nested at most 16 deep
//
// What a value is compared with is a literal, or a source as in mappings (data/mapping.h):
//
//   {"path":"total","greater":{"path":"limit"}}                 the value at another path
//   {"path":"total","less":{"path":"limit","default":5}}        5 when that path is missing
//   {"path":"file","equals":{"value":{"path":"a.txt"}}}         a literal that looks like a source
//   {"path":"country","in":{"path":"countries"}}                a list; items of a literal list may
//                                                               be sources too
//
// One operator each. A missing path, on either side, and a value of another type do not match, and
// are never an error; so missing paths are not equal to each other. 1 equals 1.0; integers of 64
// bits are compared exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "runs/language/data/path.h"

namespace holdfast {

class Condition {
 public:
  // invalid_argument says what is wrong and where ("all[1].path").
  static Result<Condition> parse(const Json& json);

  [[nodiscard]] bool matches(const DataView& data) const;

 private:
  friend class ConditionParser;  // condition.cc

  enum class Kind : std::uint8_t {
    equals,
    not_equals,
    greater,
    greater_or_equal,
    less,
    less_or_equal,
    in,
    exists,
    all,
    any,
    none,
  };

  // What a value is compared with.
  struct Operand {
    std::optional<DataPath> path;       // empty: the value is a literal
    std::string value;                  // canonical JSON: the literal or the default; empty: none
    std::optional<long double> number;  // of the value; exact for 64-bit integers and doubles
  };

  Kind kind_ = Kind::all;
  DataPath path_;
  std::vector<Operand> operands_;  // of `in` any number, of other comparisons one
  bool operand_is_list_ = false;   // `in` a list at a path
  bool wanted_ = true;
  std::vector<Condition> parts_;

  [[nodiscard]] bool compare(std::string_view slice, const DataView& data) const;
  [[nodiscard]] bool equals_any(std::string_view value, const DataView& data) const;
  [[nodiscard]] bool is_ordered(long double left, const DataView& data) const;
};

}  // namespace holdfast

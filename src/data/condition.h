// Condition: a question about the context of a run.
//
//   {"path":"total","greater":100}              greater, less: numbers; also greater_or_equal,
//   {"path":"country","in":["DE","FR"]}         less_or_equal
//   {"path":"vip","equals":true}                any JSON value; objects whatever their key order
//   {"path":"note","exists":false}              null is something that exists
//   {"path":"status","not_equals":"open"}       also when there is no such path
//   {"all":[...]} {"any":[...]} {"not":{...}}   nested at most 16 deep
//
// Exactly one question each. A path that leads nowhere or a value of another type is no match,
// never an error. 1 equals 1.0; integers of 64 bits are compared exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/path.h"

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

  Kind kind_ = Kind::all;
  DataPath path_;
  std::string value_;  // canonical JSON: what is compared with
  std::vector<std::string> values_;
  long double number_ = 0;  // holds every 64-bit integer and every double exactly
  bool wanted_ = true;
  std::vector<Condition> parts_;

  [[nodiscard]] bool matches_value(std::string_view slice) const;
};

}  // namespace holdfast

// Contract: which fields an object has.
//
//   {"order_id":"string",                                  required
//    "amount":{"type":"integer","default":1},
//    "note":{"type":"string","required":false},
//    "day":{"type":"string","default":{"today":"iso8601"}}}    or {"now":"iso8601"}: UTC, when a
//                                                             run starts
//
// Types: string, integer, float (integers too), boolean, map, list, atom (a string that is a name:
// letters, digits, "_", 1 to 255 bytes), any. null is only a value of type any. The name of a
// field has 1 to 255 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json_value.h"
#include "base/shared_text.h"
#include "runs/language/data/iso8601.h"

namespace holdfast {

enum class FieldType : std::uint8_t { any, string, integer, number, boolean, map, list, atom };

struct ContractField {
  std::string name;
  FieldType type = FieldType::any;
  bool required = true;       // and has no default
  std::string default_value;  // compact JSON; empty: none
  enum class Moment : std::uint8_t { none, now, today } moment = Moment::none;
};

// What is wrong with the declaration of a contract, and where.
struct ContractFault {
  std::vector<std::string> path;
  enum class Kind : std::uint8_t { contract, field_name, field, type, opts, default_value } kind;
  std::string message;
};

// What is wrong with an object.
struct ContractMisfit {
  std::vector<std::string> missing_fields;
  std::vector<std::string> unknown_fields;
  struct Wrong {
    std::string field;
    std::string expected;  // the name of the type
    std::string found;
  };
  std::vector<Wrong> invalid_types;

  [[nodiscard]] bool none() const {
    return missing_fields.empty() && unknown_fields.empty() && invalid_types.empty();
  }
  [[nodiscard]] std::string text() const;  // for messages: names every field
  // {"missing_fields":[],"unknown_fields":[],"invalid_types":{"amount":"integer"}}
  [[nodiscard]] JsonText json() const;
};

enum class UnknownFields : std::uint8_t { refused, allowed };

class Contract {
 public:
  // All faults of the declaration are added to `faults`; what is usable is in the contract.
  static Contract parse(const Json& json, std::vector<ContractFault>& faults);

  [[nodiscard]] const std::vector<ContractField>& fields() const { return fields_; }
  // A value that is not an object is one wrong type, of the field "".
  [[nodiscard]] ContractMisfit check(const Json& object, UnknownFields unknown) const;
  // The object with its defaults appended; `object` must have passed check.
  [[nodiscard]] Payload with_defaults(const Payload& object, TimeMs now) const;

 private:
  std::vector<ContractField> fields_;
};

}  // namespace holdfast

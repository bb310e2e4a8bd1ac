// Mapping: the input of a step from the context, or the result of a run.
//
//   ["order_id","amount"]                take: these members; what is not there is left out
//   {"card":"customer.card",             extract: each name from a path, which must exist
//    "limit":{"path":"limit","default":5},    unless it has a default
//    "currency":{"value":"EUR"}}              or a literal
//
// The names of the take form are names, not paths: a dot in them is a dot. null is a value like any
// other: a path to it exists.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_value.h"
#include "base/shared_text.h"
#include "runs/language/data/path.h"

namespace holdfast {

// A path of a mapping that does not exist in the data.
struct MissingPath {
  std::string target;      // the name it was for
  std::string path;        // as it is written
  std::string missing_at;  // the first part that is not there
};

class Mapping {
 public:
  // invalid_argument says what is wrong and where.
  static Result<Mapping> parse(const Json& json);

  // The mapped object, members in the order of the mapping.
  [[nodiscard]] std::variant<Payload, MissingPath> apply(const DataView& data) const;

 private:
  friend class MappingParser;  // mapping.cc

  struct Item {
    std::string name;
    DataPath path;
    std::string written;  // the path as it was given
    std::string value;    // a literal, or the default; compact JSON, empty: none
    bool literal = false;
  };

  bool take_ = false;
  std::vector<Item> items_;
};

// The text with each {path} replaced by what the data has there: strings as they are, other values
// as JSON, nothing for paths that do not exist or are not valid. {{ and }} are braces; a brace
// without its other half stays.
std::string fill_in(std::string_view text, const DataView& data);

}  // namespace holdfast

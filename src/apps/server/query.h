// Query: the parameters of a URL. An unknown parameter, one without a value and a repeated one
// where one value is expected are errors, so that no filter is silently ignored.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast {

class Query {
 public:
  // invalid_argument when it is malformed or a parameter has no value.
  static Result<Query> parse(std::string_view query);

  // Empty when it is absent. Each function makes the name known.
  std::string text(std::string_view name);
  std::vector<std::string> list(std::string_view name);
  // 1, true, 0 or false; otherwise invalid_argument.
  Result<bool> flag(std::string_view name);
  // invalid_argument unless it is a number of at most `most`.
  Result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t most);
  // invalid_argument names a parameter that is unknown, or repeated where one value is expected.
  Result<void> finish() const;

 private:
  explicit Query(std::vector<net::Header> members) : members_(std::move(members)) {}

  std::vector<net::Header> members_;
  // The style of text responses: accepted by every operation.
  std::set<std::string, std::less<>> known_{"width", "colour"};
  std::set<std::string, std::less<>> lists_;  // of the known ones
};

}  // namespace holdfast

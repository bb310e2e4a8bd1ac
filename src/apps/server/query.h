// Query: the parameters of a URL. A parameter that is unknown, has no value or is given twice where
// one value counts is an error, so that no filter is silently left out.
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
  // invalid_argument when it is not well formed, or a parameter has no value.
  static Result<Query> parse(std::string_view query);

  // Empty when it is not there. Each makes the name known.
  std::string text(std::string_view name);
  std::vector<std::string> list(std::string_view name);
  // True for 1 and true; invalid_argument for what is neither that nor 0 or false.
  Result<bool> flag(std::string_view name);
  // invalid_argument unless it is a number of at most `most`.
  Result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t most);
  // invalid_argument names a parameter that was not asked for, or was given twice where one value
  // counts.
  Result<void> finish() const;

 private:
  explicit Query(std::vector<net::Header> members) : members_(std::move(members)) {}

  std::vector<net::Header> members_;
  // How an answer is to look may be said everywhere.
  std::set<std::string, std::less<>> known_{"width", "colour"};
  std::set<std::string, std::less<>> lists_;  // of the known ones
};

}  // namespace holdfast

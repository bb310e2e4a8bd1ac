// Query: the parameters of a URL. An unknown parameter, one without a value and a repeated one
// where one value is expected are errors, so that no filter is silently ignored.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "net/http.h"
#include "runs/api/strict_reader.h"

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
  // invalid_argument unless it is a number from `least` to `most`.
  Result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t least,
                                              std::uint64_t most);
  // invalid_argument names a parameter that is unknown, or repeated where one value is expected.
  Result<void> finish() const;

  // The parameters of a request, and no others. path: those of the path, by name; they are texts.
  using PathParameters = std::vector<std::pair<std::string_view, std::string>>;
  template <HasFields T>
  Result<T> read(const PathParameters& path = {});

 private:
  explicit Query(std::vector<net::Header> members) : members_(std::move(members)) {}

  std::vector<net::Header> members_;
  // The style of text responses: accepted by every operation.
  std::set<std::string, std::less<>> known_{"width", "colour"};
  std::set<std::string, std::less<>> lists_;  // of the known ones
};

// Reads the members of a request from a query.
class QueryReader {
 public:
  QueryReader(Query& query, const Query::PathParameters& path) : query_(query), path_(path) {}

  template <typename T>
  void required(std::string_view name, T& value) {
    if (read_.ok()) {
      read_ = read(name, value);
    }
  }
  template <typename T>
  void optional(std::string_view name, T& value) {
    required(name, value);
  }
  Result<void> finish() && { return std::move(read_); }

 private:
  Result<void> read(std::string_view name, std::string& value);
  Result<void> read(std::string_view name, std::vector<std::string>& value);
  Result<void> read(std::string_view name, bool& value);
  template <std::uint64_t kLeast, std::uint64_t kMost>
  Result<void> read(std::string_view name, NumberFromTo<kLeast, kMost>& value) {
    HOLDFAST_TRY(const auto number, query_.number(name, kLeast, kMost));
    if (number.has_value()) {
      value = NumberFromTo<kLeast, kMost>(*number);
    }
    return {};
  }
  template <typename E>
  requires std::is_enum_v<E> Result<void> read(std::string_view name, E& value) {
    const std::string text = query_.text(name);
    const auto known = text.empty() ? std::optional(value) : enum_from<E>(text);
    value = known.value_or(value);
    return known.has_value() ? Result<void>() : unknown_word(name, text, kEnumNames<E>);
  }
  static Error unknown_word(std::string_view name, std::string_view given,
                            std::span<const std::string_view> words);

  Query& query_;
  const Query::PathParameters& path_;
  Result<void> read_;
};

template <HasFields T>
Result<T> Query::read(const PathParameters& path) {
  T request;
  QueryReader reader(*this, path);
  T::visit(request, reader);
  HOLDFAST_CHECK(std::move(reader).finish());
  HOLDFAST_CHECK(finish());
  return request;
}

}  // namespace holdfast

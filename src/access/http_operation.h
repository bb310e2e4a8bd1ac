// Operation: one request that an HTTP listener serves: method, path, access, and the types of its
// request and response. Each listener has one list of them (runs/api/operations.h for runs,
// delivery/api/broker_operations.h for messages), from which it routes and from which its OpenAPI
// document is generated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "access/roles.h"

namespace holdfast {

struct Operation {
  std::string_view id;
  std::string_view method;
  std::string_view path;  // /v1/runs/{run}/cancel
  // Operations with `permission` are for callers whose role has it.
  enum class Access : std::uint8_t { open, authenticated, permitted };
  Access access = Access::permitted;
  Permission permission = Permission::look;
  // Callers that are limited to some workflows may use operations of scope `own` only.
  enum class Scope : std::uint8_t { whole_store, own };
  Scope scope = Scope::own;
  // The statuses besides those that every operation has. A path with parameters implies 404.
  enum class Success : std::uint8_t { ok, created, ok_or_created };
  Success success = Success::ok;
  struct Refusals {
    bool not_found = false;
    bool conflict = false;
    bool too_large = false;
  };
  Refusals refusals = {};
  // json_or_text: as the caller accepts; the query parameters of texts are those of Style.
  enum class Content : std::uint8_t { json, json_or_text, text, events, lines };
  Content content = Content::json;
};

// A query without parameters.
struct NoParameters {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

// A number from kLeast to kMost, or none.
template <std::uint64_t kLeast, std::uint64_t kMost>
struct NumberFromTo : std::optional<std::uint64_t> {
  using std::optional<std::uint64_t>::optional;
  static constexpr std::uint64_t kMin = kLeast;
  static constexpr std::uint64_t kMax = kMost;
};
template <std::uint64_t kMost>
using NumberUpTo = NumberFromTo<0, kMost>;
// How many entries of a list a page has.
template <std::uint64_t kMost>
using PageLimit = NumberFromTo<1, kMost>;

// The schema of a view that is written without a field list: a file with the schemas of views
// describes it.
template <std::size_t kSize>
struct SchemaName {
  constexpr SchemaName(const char (&name)[kSize]) {  // NOLINT(modernize-avoid-c-arrays)
    for (std::size_t i = 0; i < kSize; ++i) {
      text[i] = name[i];
    }
  }
  char text[kSize] = {};  // NOLINT(modernize-avoid-c-arrays)
};
template <SchemaName kName>
struct ViewOf {
  static constexpr std::string_view kSchema = kName.text;
};

// Request: of GET and DELETE, the parameters of the URL; of POST, the body. Parameters: of POST,
// those of the query.
template <typename RequestType, typename ResponseType, typename ParameterType = NoParameters>
struct OperationOf : Operation {
  using Request = RequestType;
  using Response = ResponseType;
  using Parameters = ParameterType;
};

}  // namespace holdfast

// Routes: the operations of the API as a table: method, path, access and implementation.
// schema/openapi.json describes the same operations; a test compares the two.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/roles.h"
#include "holdfast/result.h"

namespace holdfast {

class Call;

struct Route {
  std::string_view method;
  std::string_view path;  // /v1/runs/{run}/cancel
  std::string_view id;    // cancel_run
  // open: no authentication; authenticated: every known caller; permitted: callers with
  // `permission`.
  enum class Access : std::uint8_t { open, authenticated, permitted };
  Access access = Access::permitted;
  Permission permission = Permission::look;
  // Callers that are limited to some workflows may use operations of scope `own` only.
  enum class Scope : std::uint8_t { whole_store, own };
  Scope scope = Scope::own;
  void (*run)(const std::shared_ptr<Call>& call) = nullptr;
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;
  std::vector<std::string> arguments;
};
// not_found; invalid_argument when the path has other methods, which the field "allowed" names.
Result<Match> find_route(std::string_view method, std::string_view path);

}  // namespace holdfast

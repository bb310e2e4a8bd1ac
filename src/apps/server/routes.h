// Routes: every operation of the API, as data: where it is, who may ask for it, what carries it
// out. schema/openapi.json describes the same operations; a test compares the two.
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
  enum class Access : std::uint8_t { open, known, permitted };
  Access access = Access::permitted;  // open: to all; known: to whoever is known
  Permission permission = Permission::look;
  // What callers see of it who are limited to some workflows.
  enum class Scope : std::uint8_t { whole_store, own };
  Scope scope = Scope::own;
  void (*run)(const std::shared_ptr<Call>& call) = nullptr;
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;
  std::vector<std::string> arguments;
};
// not_found; invalid_argument when the path is there for other methods (`allowed` names them).
Result<Match> find_route(std::string_view method, std::string_view path);

}  // namespace holdfast

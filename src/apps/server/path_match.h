// Finds the operation that a request is for: routes are objects with the members of Operation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

// The path parameters, decoded, if the path has this form: /v1/runs/{run}/cancel.
std::optional<std::vector<std::string>> match_path(std::string_view form, std::string_view path);

// invalid_argument, with the field "allowed", when the path has other methods, else not_found.
Error no_route(std::string_view method, std::string_view path, const std::string& allowed);

template <typename RouteType>
struct RouteMatch {
  const RouteType* route = nullptr;
  std::vector<std::string> arguments;
};

// The errors of no_route.
template <typename RouteType>
Result<RouteMatch<RouteType>> find_among(std::span<const RouteType> routes, std::string_view method,
                                         std::string_view path) {
  std::string allowed;
  for (const RouteType& route : routes) {
    auto arguments = match_path(route.path, path);
    if (!arguments.has_value()) {
      continue;
    }
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      return RouteMatch<RouteType>{&route, *std::move(arguments)};
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  return no_route(method, path, allowed);
}

}  // namespace holdfast

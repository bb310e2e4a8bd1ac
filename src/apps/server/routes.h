// Routes: the operations of the API (runs/api/operations.h), each with its implementation.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "runs/api/operations.h"

namespace holdfast {

class Call;

struct Route : Operation {
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

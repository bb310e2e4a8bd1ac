// Routes: the operations of the API (runs/api/operations.h), each with its implementation.
#pragma once

#include <span>
#include <string_view>

#include "apps/server/path_match.h"
#include "apps/server/server_operations.h"
#include "holdfast/result.h"
#include "runs/api/operations.h"

namespace holdfast {

// The function of an operation (server_operations.h).
class OperationRunner {
 public:
  constexpr OperationRunner(OperationFunction* run) : run_(run) {}
  constexpr OperationRunner(CheckedOperation* run) : checked_(run) {}

  void operator()(const CallPtr& call) const;

 private:
  OperationFunction* run_ = nullptr;
  CheckedOperation* checked_ = nullptr;
};

struct Route : Operation {
  OperationRunner run;
};

std::span<const Route> routes();

using Match = RouteMatch<Route>;
// not_found; invalid_argument when the path has other methods, which the field "allowed" names.
Result<Match> find_route(std::string_view method, std::string_view path);

}  // namespace holdfast

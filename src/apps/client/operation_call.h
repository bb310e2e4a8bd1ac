// The targets of operations (runs/api/operations.h): the path with its parameters filled in, and
// the query, both encoded. A member without a value is not sent; neither is an enumerator that is
// the first of its type, which is the default.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "apps/client/client_api.h"
#include "runs/api/operations.h"

namespace holdfast::client {

// The path with its parameters, in their order.
std::string path_of(const Operation& operation,
                    std::initializer_list<std::string_view> parameters = {});

// A visitor of the members of a request.
class TargetWriter {
 public:
  explicit TargetWriter(std::string_view path) : path_(path) {}

  template <typename T>
  void required(std::string_view name, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      add(name, value == T{} ? std::string_view() : to_text(value));
    } else if constexpr (std::same_as<T, bool>) {
      add(name, value ? "true" : "");
    } else if constexpr (requires { value.has_value(); }) {
      add(name, value.has_value() ? std::to_string(*value) : std::string());
    } else {
      add(name, value);
    }
  }
  template <typename T>
  void optional(std::string_view name, const T& value) {
    required(name, value);
  }
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, const std::vector<std::string>& values);

  std::string take() && { return std::move(path_) + query_; }

 private:
  std::string path_;
  std::string query_;
};

template <HasFields T>
std::string target_of(const Operation& operation, const T& request) {
  TargetWriter writer(operation.path);
  T::visit(request, writer);
  return std::move(writer).take();
}
// Of a query.
template <HasFields T>
std::string target_of(const T& request) {
  constexpr Operation kOperation = operation_of<T>();
  static_assert(!kOperation.id.empty(), "no operation has this request type");
  return target_of(kOperation, request);
}

// Of a command without parameters in its path. The required members of the request must be set.
template <typename Request, typename Response, typename Parameters>
ApiCall call_of(const OperationOf<Request, Response, Parameters>& operation,
                const std::type_identity_t<Request>& request) {
  return {operation.method, path_of(operation), response_json(request)};
}

}  // namespace holdfast::client

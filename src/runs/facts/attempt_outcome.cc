#include "runs/facts/attempt_outcome.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>

#include "base/json_writer.h"

namespace holdfast {

namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : type.name();
}

Failure exception_failure(std::string_view type, std::string_view message) {
  Failure failure;
  failure.retryable = false;
  JsonWriter json;
  json.begin_object()
      .member("code", "step_exception")
      .member("message", std::string(type) + ": " + std::string(message))
      .member("exception", type)
      .member("retryable", false)
      .end_object();
  failure.error = std::move(json).take_text();
  return failure;
}

}  // namespace

Failure failure_of_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return exception_failure(type_name(typeid(error)), error.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return exception_failure(type == nullptr ? "unknown" : type_name(*type),
                             "not a std::exception");
  }
}

}  // namespace holdfast

#include "apps/client/operation_call.h"

#include "net/http.h"

namespace holdfast::client {

std::string path_of(const Operation& operation,
                    std::initializer_list<std::string_view> parameters) {
  std::string path(operation.path);
  for (const std::string_view parameter : parameters) {
    const std::size_t begin = path.find('{');
    HOLDFAST_ASSERT(begin != std::string::npos);
    path.replace(begin, path.find('}') + 1 - begin, net::url_encoded(parameter));
  }
  HOLDFAST_ASSERT(path.find('{') == std::string::npos);
  return path;
}

void TargetWriter::add(std::string_view name, std::string_view value) {
  const std::string parameter = "{" + std::string(name) + "}";
  const std::size_t begin = path_.find(parameter);
  if (begin != std::string::npos) {
    path_.replace(begin, parameter.size(), net::url_encoded(value));
  } else if (!value.empty()) {
    query_ += query_.empty() ? '?' : '&';
    query_ += net::url_encoded(name) + "=" + net::url_encoded(value);
  }
}

void TargetWriter::add(std::string_view name, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    add(name, std::string_view(value));
  }
}

}  // namespace holdfast::client

#include "apps/server/path_match.h"

#include "net/http.h"

namespace holdfast {

namespace {

// Removes and returns the part up to the next slash.
std::string_view take_part(std::string_view& path) {
  const std::size_t end = path.find('/');
  const std::string_view part = path.substr(0, end);
  path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  return part;
}

}  // namespace

std::optional<std::vector<std::string>> match_path(std::string_view form, std::string_view path) {
  std::vector<std::string> arguments;
  if (!path.starts_with('/') || path.ends_with('/')) {
    return std::nullopt;
  }
  form.remove_prefix(1);
  path.remove_prefix(1);
  while (!form.empty() && !path.empty()) {
    const std::string_view expected = take_part(form);
    const std::string_view given = take_part(path);
    if (expected.starts_with('{')) {
      auto decoded = net::url_decoded(given, net::UrlPart::path);
      if (!decoded.has_value() || decoded->empty()) {
        return std::nullopt;
      }
      arguments.push_back(*std::move(decoded));
    } else if (expected != given) {
      return std::nullopt;
    }
  }
  return form.empty() && path.empty() ? std::optional(std::move(arguments)) : std::nullopt;
}

Error no_route(std::string_view method, std::string_view path, const std::string& allowed) {
  if (!allowed.empty()) {
    return Error{ErrorCode::invalid_argument,
                 std::string(method) + " is not allowed; use " + allowed}
        .with("allowed", allowed);
  }
  return Error{ErrorCode::not_found,
               "unknown path \"" + std::string(path) + "\"; see /openapi.json"};
}

}  // namespace holdfast

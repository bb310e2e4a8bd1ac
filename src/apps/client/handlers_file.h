// Handlers that are processes or requests, from a YAML or JSON file:
//
//   handlers:
//     charge: {exec: [./charge.sh]}
//     notify: {http: {url: "https://shop.example/notify", allowed_hosts: [shop.example]}}
//
// The values of exec and http have the same form as in a step of a workflow.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "holdfast/result.h"
#include "runs/language/definition/spec.h"

namespace holdfast::client {

using HandlerSpec = std::variant<ExecSpec, HttpSpec>;
using HandlerSpecs = std::map<std::string, HandlerSpec>;

// invalid_definition lists all faults, each with `file`, line and column; the field "errors" has
// them as JSON.
Result<HandlerSpecs> read_handlers(std::string_view text, std::string_view file);

}  // namespace holdfast::client

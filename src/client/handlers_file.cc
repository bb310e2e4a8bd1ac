#include "client/handlers_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "definition/read_spec.h"
#include "dispatch/ids.h"
#include "yaml/check_workflow.h"
#include "yaml/document.h"

namespace holdfast::client {

namespace {

void read_handler(const SpecPlace& place, std::string_view slice, HandlerSpec& spec) {
  SpecObject object(place, slice);
  if (!object.is_object()) {
    return;
  }
  const auto exec = object.take("exec");
  const auto http = object.take("http");
  if (exec.has_value() == http.has_value()) {
    place.fault(exec.has_value() ? "is exec and http at once, leave one out"
                                 : "is neither exec nor http");
  } else if (exec.has_value()) {
    read_exec(object.at("exec"), *exec, spec.emplace<ExecSpec>());
  } else {
    read_http(object.at("http"), *http, spec.emplace<HttpSpec>());
  }
  object.finish();
}

HandlerSpecs read_all(Faults& faults, std::string_view json) {
  HandlerSpecs specs;
  const SpecPlace whole(faults, FaultCode::invalid_spec, "the file");
  SpecObject object(whole, json);
  if (const auto handlers = object.need("handlers", FaultCode::invalid_spec)) {
    const SpecPlace place = object.at("handlers");
    const auto members = read_members(place, *handlers);
    if (members.empty() && handlers->starts_with('{')) {
      place.fault("has nothing in it");
    }
    for (const auto& [name, slice] : members) {
      const SpecPlace at =
          place.at(name).called("handler " + name).with(FaultCode::invalid_step_module);
      if (!check_name("handler", name).ok()) {
        at.fault("has a name that no handler can have");
      }
      read_handler(at, slice, specs[name]);
    }
  }
  object.finish();
  return specs;
}

Error error_of(std::vector<LocatedFault> faults, std::string_view file) {
  std::stable_sort(
      faults.begin(), faults.end(),
      [](const LocatedFault& left, const LocatedFault& right) { return left.place < right.place; });
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (const LocatedFault& fault : faults) {
    const std::string path = path_text(fault.fault.path);
    lines += fmt::format("{}{}:{}:{}: {}{}{} ({})", lines.empty() ? "" : "\n", file,
                         fault.place.line, fault.place.column, path, path.empty() ? "" : ": ",
                         fault.fault.message, fault.fault.code);
    write_fault(json, fault);
  }
  json.end_array();
  return Error{ErrorCode::invalid_definition, std::move(lines)}.with("errors",
                                                                     std::move(json).take());
}

}  // namespace

Result<HandlerSpecs> read_handlers(std::string_view text, std::string_view file) {
  const auto document = YamlDocument::parse(text);
  if (!document.ok()) {
    const Error& error = document.error();
    const SourcePlace place{parse_decimal(error.field("line")).value_or(1),
                            parse_decimal(error.field("column")).value_or(1)};
    DefinitionFault fault{{},
                          std::string(to_text(FaultCode::invalid_spec)),
                          "the text cannot be read: " + std::string(error.field("reason"))};
    return error_of({{std::move(fault), place}}, file);
  }
  Faults faults;
  HandlerSpecs specs = read_all(faults, document.value().json().view());
  if (faults.none()) {
    return specs;
  }
  std::vector<LocatedFault> located;
  for (DefinitionFault& fault : std::move(faults).take()) {
    const SourcePlace place = document.value().place(fault.path);
    located.push_back({std::move(fault), place});
  }
  return error_of(std::move(located), file);
}

}  // namespace holdfast::client

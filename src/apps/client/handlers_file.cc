#include "apps/client/handlers_file.h"

#include "base/names.h"
#include "runs/language/definition/read_spec.h"
#include "runs/language/yaml/check_workflow.h"
#include "runs/language/yaml/document.h"

namespace holdfast::client {

namespace {

constexpr LanguageField kHandlerFields[] = {{.name = "exec"}, {.name = "http"}};
constexpr LanguageObject kHandlerObject{.own = kHandlerFields};
constexpr LanguageField kFileFields[] = {{.name = "handlers"}};
constexpr LanguageObject kFileObject{.own = kFileFields};

void read_handler(const SpecLocation& location, std::string_view slice, HandlerSpec& spec) {
  const SpecObject object(location, slice, kHandlerObject);
  if (!object.is_object()) {
    return;
  }
  const auto exec = object.find("exec");
  const auto http = object.find("http");
  if (exec.has_value() == http.has_value()) {
    location.fault(exec.has_value() ? "has both exec and http; remove one" : "needs exec or http");
  } else if (exec.has_value()) {
    read_exec(object.at("exec"), *exec, spec.emplace<ExecSpec>());
  } else {
    read_http(object.at("http"), *http, spec.emplace<HttpSpec>());
  }
  object.finish();
}

HandlerSpecs read_all(Faults& faults, std::string_view json) {
  HandlerSpecs specs;
  const SpecLocation whole(faults, FaultCode::invalid_spec, "the file");
  const SpecObject object(whole, json, kFileObject);
  if (const auto handlers = object.need("handlers")) {
    const SpecLocation location = object.at("handlers");
    const auto members = read_members(location, *handlers);
    if (members.empty() && handlers->starts_with('{')) {
      location.fault("must have at least one handler");
    }
    for (const auto& [name, slice] : members) {
      const SpecLocation at =
          location.at(name).called("handler " + quote(name)).with(FaultCode::invalid_step_module);
      if (!check_name("handler", name).ok()) {
        at.fault("does not have a valid name: use letters, digits, '_', '.' and '-'");
      }
      read_handler(at, slice, specs[name]);
    }
  }
  object.finish();
  return specs;
}

}  // namespace

Result<HandlerSpecs> read_handlers(std::string_view text, std::string_view file) {
  const auto document = YamlDocument::parse(text);
  if (!document.ok()) {
    return invalid_file({unreadable_fault(document.error())}, file);
  }
  Faults faults;
  HandlerSpecs specs = read_all(faults, document.value().json().view());
  if (faults.none()) {
    return specs;
  }
  std::vector<LocatedFault> located;
  for (DefinitionFault& fault : std::move(faults).take()) {
    const SourceLocation location = document.value().location(fault.path);
    located.push_back({std::move(fault), location});
  }
  return invalid_file(std::move(located), file);
}

}  // namespace holdfast::client

#include "runs/language/yaml/check_workflow.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "base/read_file.h"
#include "base/text.h"
#include "runs/language/cron/cron.h"
#include "runs/language/cron/zone_names.h"
#include "runs/language/data/cron_expression.h"
#include "runs/language/definition/fault_codes.h"
#include "runs/language/yaml/document.h"

namespace holdfast {

namespace {

constexpr std::string_view kCronNeedsBothDays = "cron_needs_both_days";

bool is_before(const LocatedFault& left, const LocatedFault& right) {
  return left.location < right.location;
}

bool has_fault_at(const std::vector<DefinitionFault>& faults,
                  const std::vector<std::string>& path) {
  return std::any_of(faults.begin(), faults.end(),
                     [&](const DefinitionFault& fault) { return fault.path == path; });
}

// The modules of the language perform no I/O, so they cannot know which zones exist.
void check_timezones(const JsonText& spec, std::vector<DefinitionFault>& faults) {
  const auto whole = Json::parse(spec.view());
  const auto triggers = whole.ok() ? whole.value().find("triggers") : std::nullopt;
  if (!triggers.has_value() || triggers->kind() != Json::Kind::array) {
    return;
  }
  for (std::size_t i = 0; i < triggers->size(); ++i) {
    const auto cron = triggers->item(i).find("cron");
    const auto timezone = cron.has_value() ? cron->find("timezone") : std::nullopt;
    const auto name = timezone.has_value() ? timezone->string() : std::nullopt;
    std::vector<std::string> path{"triggers", std::to_string(i), "cron", "timezone"};
    if (name.has_value() && !is_timezone(*name) && !has_fault_at(faults, path)) {
      faults.push_back({std::move(path), std::string(to_text(FaultCode::invalid_cron_timezone)),
                        unknown_timezone(*name).message()});
    }
  }
}

std::vector<LocatedFault> warnings_of(const Definition& definition, const YamlDocument& document) {
  std::vector<LocatedFault> warnings;
  for (std::size_t i = 0; i < definition.triggers().size(); ++i) {
    const auto& cron = definition.triggers()[i].spec.cron;
    const auto parsed = CronExpression::parse(cron.has_value() ? cron->expression.view() : "");
    if (!parsed.ok() || !parsed.value().needs_both_days()) {
      continue;
    }
    DefinitionFault warning{{"triggers", std::to_string(i), "cron", "expression"},
                            std::string(kCronNeedsBothDays),
                            fmt::format("{} is due only on days that match both day of month and "
                                        "day of week, because one of them has */n; write a range "
                                        "such as 1-31/2 for days that match either",
                                        quote(cron->expression.view()))};
    const SourceLocation location = document.location(warning.path);
    warnings.push_back({std::move(warning), location});
  }
  return warnings;
}

std::string fault_line(std::string_view file, const LocatedFault& fault) {
  const std::string path = printable(path_text(fault.fault.path));
  return fmt::format("{}:{}:{}: {}{}{} ({})", printable(file), fault.location.line,
                     fault.location.column, path, path.empty() ? "" : ": ", fault.fault.message,
                     fault.fault.code);
}

}  // namespace

LocatedFault unreadable_fault(const Error& error) {
  const SourceLocation location{parse_decimal(error.field("line")).value_or(1),
                                parse_decimal(error.field("column")).value_or(1)};
  return {{{}, std::string(to_text(FaultCode::invalid_spec)), std::string(error.field("reason"))},
          location};
}

CheckedWorkflow check_workflow(std::string_view text) {
  CheckedWorkflow checked;
  const auto document = YamlDocument::parse(text);
  if (!document.ok()) {
    checked.faults.push_back(unreadable_fault(document.error()));
    return checked;
  }
  std::vector<DefinitionFault> faults = Definition::check(document.value().json().view());
  check_timezones(document.value().json(), faults);
  for (DefinitionFault& fault : faults) {
    const SourceLocation location = document.value().location(fault.path);
    checked.faults.push_back({std::move(fault), location});
  }
  std::stable_sort(checked.faults.begin(), checked.faults.end(), is_before);
  if (checked.faults.empty()) {
    checked.definition = Definition::parse(document.value().json().view()).value();
    checked.warnings = warnings_of(*checked.definition, document.value());
  }
  return checked;
}

void write_fault(JsonWriter& json, const LocatedFault& fault, std::string_view file) {
  json.begin_object();
  if (!file.empty()) {
    json.member("file", file);
  }
  json.key("path").begin_array();
  for (const std::string& part : fault.fault.path) {
    json.string(part);
  }
  json.end_array().member("code", fault.fault.code).member("message", fault.fault.message);
  json.member("line", std::uint64_t{fault.location.line});
  json.member("column", std::uint64_t{fault.location.column}).end_object();
}

Error invalid_file(std::vector<LocatedFault> faults, std::string_view file) {
  std::stable_sort(faults.begin(), faults.end(), is_before);
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (const LocatedFault& located : faults) {
    lines += (lines.empty() ? "" : "\n") + fault_line(file, located);
    write_fault(json, located);
  }
  json.end_array();
  return Error{ErrorCode::invalid_definition, std::move(lines)}.with("errors",
                                                                     std::move(json).take());
}

Result<std::string> read_workflow_file(const std::string& path) {
  auto text = read_file(path, kMaxSourceBytes);
  if (!text.ok()) {
    return Error{text.error().code(),
                 fmt::format("file {} {}", quote(path), text.error().message())}
        .with("path", path);
  }
  return text;
}

Result<std::shared_ptr<const Definition>> load_workflow(std::string_view text,
                                                        std::string_view file) {
  CheckedWorkflow checked = check_workflow(text);
  if (checked.faults.empty()) {
    return std::move(checked.definition);
  }
  return invalid_file(std::move(checked.faults), file);
}

}  // namespace holdfast

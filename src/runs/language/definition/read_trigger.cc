#include <fmt/format.h>

#include <algorithm>

#include "runs/language/data/contract.h"
#include "runs/language/data/cron_expression.h"
#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

// Europe/Berlin, UTC, Etc/GMT+1. Only cron/ knows whether a zone exists.
bool looks_like_timezone(std::string_view text) {
  constexpr std::size_t kMaxBytes = 64;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '+' || c == '-';
  };
  const bool has_letter_first =
      !text.empty() && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
  return has_letter_first && text.size() <= kMaxBytes &&
         std::all_of(text.begin(), text.end(), fits) && !text.ends_with('/') &&
         text.find("//") == std::string_view::npos;
}

void read_cron(const SpecLocation& location, std::string_view slice, CronSpec& cron) {
  const SpecObject object(location, slice, kCronObject);
  object.read_all(cron);
  if (!cron.expression.empty()) {
    const auto parsed = CronExpression::parse(cron.expression.view());
    if (!parsed.ok()) {
      object.at("expression").part_fault("", parsed.error().message());
    }
  }
  if (!cron.timezone.empty() && !looks_like_timezone(cron.timezone.view())) {
    object.at("timezone").fault("is not a time zone name such as Europe/Berlin or UTC");
  }
  if (cron.delivery == CronDelivery::external && cron.catch_up != CatchUp::skip) {
    object.at("catch_up").fault("has no effect with delivery: external; the scheduler catches up");
  }
  object.finish();
}

// Runs that cron starts have no input, so without defaults they would never start.
void check_defaults(const SpecLocation& location, std::string_view slice) {
  std::vector<ContractFault> faults;
  const auto json = Json::parse(slice);
  const Contract contract = Contract::parse(json.value(), faults);
  for (const ContractField& field : contract.fields()) {
    if (field.required && faults.empty()) {
      location.at(field.name)
          .fault("needs a default or required: false, because cron runs have no input");
    }
  }
}

void read_type(const SpecObject& object, TriggerSpec& trigger) {
  const auto manual = object.find("manual");
  const auto cron = object.find("cron");
  if (cron.has_value()) {
    read_cron(object.at("cron"), *cron, trigger.cron.emplace());
  }
  if (manual.has_value() && *manual != "true" && *manual != "{}") {
    object.at("manual").fault("has no options; write manual: true");
  }
  if (manual.has_value() && cron.has_value()) {
    object.location().fault(FaultCode::invalid_trigger_type,
                            "is both manual and cron; make two triggers");
  }
  if (const auto type = object.find("type")) {
    const SpecLocation at = object.at("type");
    TriggerType said = TriggerType::manual;
    if (!read_choice(at, *type, said)) {
      return;
    }
    if (said == TriggerType::cron && !cron.has_value()) {
      at.fault("is cron, so the trigger needs cron: {expression: ..., timezone: ...}");
    } else if (said == TriggerType::manual && cron.has_value()) {
      at.fault("is manual, but the trigger has cron; remove one");
    }
  }
}

}  // namespace

void read_trigger(const SpecLocation& location, std::string_view slice, TriggerSpec& trigger) {
  SpecObject object(location.with(FaultCode::invalid_trigger), slice, kTriggerObject);
  if (!object.is_object()) {
    return;
  }
  object.read("name", trigger.name);
  const SpecLocation named =
      trigger.name.empty() ? object.location()
                           : object.location().called("trigger " + quote(trigger.name.view()));
  object.set_location(named.with(FaultCode::invalid_trigger_config));
  read_type(object, trigger);
  if (const auto payload = object.find("payload")) {
    read_contract(object.at("payload"), *payload, trigger.payload);
    if (trigger.cron.has_value()) {
      check_defaults(object.at("payload").with(FaultCode::invalid_payload_default), *payload);
    }
  }
  object.finish();
}

}  // namespace holdfast

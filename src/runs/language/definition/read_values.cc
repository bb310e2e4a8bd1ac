#include "runs/language/data/condition_expression.h"
#include "runs/language/data/contract.h"
#include "runs/language/data/mapping.h"
#include "runs/language/data/path.h"
#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

FaultCode code_of(ContractFault::Kind kind) {
  switch (kind) {
    case ContractFault::Kind::contract:
      return FaultCode::invalid_payload_contract;
    case ContractFault::Kind::field_name:
      return FaultCode::invalid_payload_field_name;
    case ContractFault::Kind::field:
      return FaultCode::invalid_payload_field;
    case ContractFault::Kind::type:
      return FaultCode::invalid_payload_field_type;
    case ContractFault::Kind::opts:
      return FaultCode::invalid_payload_field_opts;
    case ContractFault::Kind::default_value:
      return FaultCode::invalid_payload_default;
  }
  return FaultCode::invalid_payload_contract;
}

// The slice is part of a valid text.
Json json_of(std::string_view slice) { return Json::parse(slice).value(); }

}  // namespace

void read_mapping(const SpecLocation& location, std::string_view slice, Payload& mapping) {
  mapping = read_json(location, slice);
  const auto parsed = Mapping::parse(json_of(slice));
  if (!parsed.ok()) {
    location.part_fault(parsed.error().field("at"), parsed.error().message());
  }
}

void read_condition(const SpecLocation& location, std::string_view slice, Payload& condition) {
  condition = read_json(location, slice);
  const auto parsed = Condition::parse(json_of(slice));
  if (!parsed.ok()) {
    location.part_fault(parsed.error().field("at"), parsed.error().message());
  }
}

void read_contract(const SpecLocation& location, std::string_view slice, Payload& contract) {
  contract = read_json(location, slice);
  std::vector<ContractFault> faults;
  Contract::parse(json_of(slice), faults);
  for (const ContractFault& fault : faults) {
    SpecLocation inner = location;
    for (const std::string& part : fault.path) {
      inner = inner.at(part);
    }
    const bool of_payload = location.code() == FaultCode::invalid_payload_contract;
    // The message of the contract names the field itself.
    inner.called(location.label() + ":")
        .fault(of_payload ? code_of(fault.kind) : location.code(), fault.message);
  }
}

bool check_path(const SpecLocation& location, std::string_view path) {
  const auto parsed = DataPath::parse(path);
  if (!parsed.ok()) {
    location.part_fault("", parsed.error().message());
    return false;
  }
  if (parsed.value().parts().empty()) {
    location.fault("is a path to the whole context; name a member");
    return false;
  }
  return true;
}

}  // namespace holdfast

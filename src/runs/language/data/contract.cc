#include "runs/language/data/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/json_slice.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "runs/language/data/json_text.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxNameBytes = 255;

// In the order of FieldType, as they are written.
constexpr std::array<std::string_view, 8> kTypeNames{"any",     "string", "integer", "float",
                                                     "boolean", "map",    "list",    "atom"};

std::string_view type_name(FieldType type) { return kTypeNames[static_cast<std::size_t>(type)]; }

std::optional<FieldType> find_type(std::string_view name) {
  const auto* found = std::find(kTypeNames.begin(), kTypeNames.end(), name);
  return found != kTypeNames.end()
             ? std::optional(static_cast<FieldType>(found - kTypeNames.begin()))
             : std::nullopt;
}

bool is_atom(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

bool fits(FieldType type, const Json& value) {
  const Json::Kind kind = value.kind();
  switch (type) {
    case FieldType::any:
      return true;
    case FieldType::string:
      return kind == Json::Kind::string;
    case FieldType::integer:
      return kind == Json::Kind::integer;
    case FieldType::number:
      return kind == Json::Kind::integer || kind == Json::Kind::number;
    case FieldType::boolean:
      return kind == Json::Kind::boolean;
    case FieldType::map:
      return kind == Json::Kind::object;
    case FieldType::list:
      return kind == Json::Kind::array;
    case FieldType::atom:
      return kind == Json::Kind::string && is_atom(*value.string());
  }
  return false;
}

std::string_view kind_name(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "boolean";
    case Json::Kind::integer:
      return "integer";
    case Json::Kind::number:
      return "float";
    case Json::Kind::string:
      return "string";
    case Json::Kind::array:
      return "list";
    case Json::Kind::object:
      return "map";
  }
  return "null";
}

// {"now":"iso8601"} or {"today":"iso8601"}; anything else is a value.
ContractField::Moment moment_of(const Json& value) {
  if (value.kind() != Json::Kind::object || value.size() != 1) {
    return ContractField::Moment::none;
  }
  const auto [name, form] = value.member(0);
  if (form.string() != "iso8601") {
    return ContractField::Moment::none;
  }
  return name == "now"     ? ContractField::Moment::now
         : name == "today" ? ContractField::Moment::today
                           : ContractField::Moment::none;
}

// Reads the declaration of one field; what is wrong goes to the faults.
class FieldReader {
 public:
  FieldReader(std::string_view name, std::vector<ContractFault>& faults) : faults_(faults) {
    field_.name = name;
  }

  // Empty if no part of the declaration is usable.
  std::optional<ContractField> read(const Json& declared) {
    if (field_.name.empty() || field_.name.size() > kMaxNameBytes) {
      fault({}, Kind::field_name, fmt::format("must have a name of 1 to {} bytes", kMaxNameBytes));
      return std::nullopt;
    }
    if (declared.string().has_value()) {
      return read_type(declared, {}) ? std::optional(field_) : std::nullopt;
    }
    if (declared.kind() != Json::Kind::object) {
      fault({}, Kind::field, "must be the name of a type, or an object with type");
      return std::nullopt;
    }
    const auto type = declared.find("type");
    if (!type.has_value()) {
      fault("type", Kind::type, "is missing");
      return std::nullopt;
    }
    if (!read_type(*type, "type")) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < declared.size(); ++i) {
      const auto [name, value] = declared.member(i);
      read_option(name, value);
    }
    // A default replaces a missing value, whether or not the field is required.
    field_.required = field_.required && !has_default_;
    return field_;
  }

 private:
  using Kind = ContractFault::Kind;

  bool read_type(const Json& json, std::string_view option) {
    const auto name = json.string();
    const auto type = name.has_value() ? find_type(*name) : std::nullopt;
    if (!type.has_value()) {
      fault(option, Kind::type, fmt::format("must be one of {}", fmt::join(kTypeNames, ", ")));
      return false;
    }
    field_.type = *type;
    return true;
  }

  void read_option(std::string_view name, const Json& value) {
    if (name == "default") {
      read_default(value);
    } else if (name == "required") {
      const auto required = value.boolean();
      if (!required.has_value()) {
        fault(name, Kind::opts, "must be true or false");
      }
      field_.required = required.value_or(true);
    } else if (name != "type") {
      fault(name, Kind::opts, "is unknown; use type, required or default");
    }
  }

  void read_default(const Json& value) {
    has_default_ = true;
    // In a map an object is an object, even one that looks like a moment.
    const bool may_be_moment = field_.type == FieldType::string || field_.type == FieldType::any;
    field_.moment = may_be_moment ? moment_of(value) : ContractField::Moment::none;
    if (field_.moment != ContractField::Moment::none) {
      return;
    }
    if (!fits(field_.type, value)) {
      fault("default", Kind::default_value,
            fmt::format("must be {}, is {}", type_name(field_.type), kind_name(value.kind())));
      return;
    }
    field_.default_value = json_text(value);
  }

  void fault(std::string_view option, Kind kind, std::string_view what) {
    std::vector<std::string> path{field_.name};
    std::string location = fmt::format("field {}", quote(field_.name));
    if (!option.empty()) {
      path.emplace_back(option);
      location += fmt::format(": {}", printable(option, kMaxShownBytes));
    }
    faults_.push_back({std::move(path), kind, fmt::format("{} {}", location, what)});
  }

  std::vector<ContractFault>& faults_;
  ContractField field_;
  bool has_default_ = false;
};

void append_part(std::string& text, std::string_view part) {
  text += text.empty() ? "" : "; ";
  text += part;
}

std::string default_of(const ContractField& field, TimeMs now) {
  std::string text;
  switch (field.moment) {
    case ContractField::Moment::none:
      return field.default_value;
    case ContractField::Moment::now:
      append_json_string(text, iso8601_time(now));
      return text;
    case ContractField::Moment::today:
      append_json_string(text, iso8601_day(now));
      return text;
  }
  return text;
}

std::set<std::string> names_of(std::string_view object) {
  std::set<std::string> names;
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    auto name = json_string_value(fmt::format("\"{}\"", member->name));
    names.insert(name.has_value() ? *std::move(name) : std::string(member->name));
  }
  return names;
}

}  // namespace

std::string ContractMisfit::text() const {
  std::string text;
  for (const std::string& field : missing_fields) {
    append_part(text, fmt::format("{} is missing", quote(field)));
  }
  for (const std::string& field : unknown_fields) {
    append_part(text, fmt::format("unknown field {}", quote(field)));
  }
  for (const Wrong& wrong : invalid_types) {
    const std::string who = wrong.field.empty() ? "the value" : quote(wrong.field);
    append_part(text, fmt::format("{} must be {}, is {}", who, wrong.expected, wrong.found));
  }
  return text;
}

JsonText ContractMisfit::json() const {
  JsonWriter out;
  const auto write_list = [&](std::string_view name, const std::vector<std::string>& fields) {
    out.key(name).begin_array();
    for (const std::string& field : fields) {
      out.string(field);
    }
    out.end_array();
  };
  out.begin_object();
  write_list("missing_fields", missing_fields);
  write_list("unknown_fields", unknown_fields);
  out.key("invalid_types").begin_object();
  for (const Wrong& wrong : invalid_types) {
    out.member(wrong.field, wrong.expected);
  }
  out.end_object().end_object();
  return std::move(out).take_text();
}

Contract Contract::parse(const Json& json, std::vector<ContractFault>& faults) {
  Contract contract;
  if (json.kind() != Json::Kind::object) {
    faults.push_back({{},
                      ContractFault::Kind::contract,
                      fmt::format("must be an object of fields, not {}", kind_name(json.kind()))});
    return contract;
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto [name, declared] = json.member(i);
    if (auto field = FieldReader(name, faults).read(declared)) {
      contract.fields_.push_back(*std::move(field));
    }
  }
  return contract;
}

ContractMisfit Contract::check(const Json& object, UnknownFields unknown) const {
  ContractMisfit misfit;
  if (object.kind() != Json::Kind::object) {
    misfit.invalid_types.push_back({"", "map", std::string(kind_name(object.kind()))});
    return misfit;
  }
  for (const ContractField& field : fields_) {
    const auto value = object.find(field.name);
    if (!value.has_value()) {
      if (field.required) {
        misfit.missing_fields.push_back(field.name);
      }
    } else if (!fits(field.type, *value)) {
      misfit.invalid_types.push_back(
          {field.name, std::string(type_name(field.type)), std::string(kind_name(value->kind()))});
    }
  }
  for (std::size_t i = 0; unknown == UnknownFields::refused && i < object.size(); ++i) {
    const std::string_view name = object.member(i).first;
    const bool known = std::any_of(fields_.begin(), fields_.end(),
                                   [&](const ContractField& field) { return field.name == name; });
    if (!known) {
      misfit.unknown_fields.emplace_back(name);
    }
  }
  return misfit;
}

Payload Contract::with_defaults(const Payload& object, TimeMs now) const {
  const std::set<std::string> present = names_of(object.view());
  std::string added;
  for (const ContractField& field : fields_) {
    const std::string value = present.contains(field.name) ? "" : default_of(field, now);
    if (!value.empty()) {
      added += ',';
      append_json_string(added, field.name);
      added += ':';
      added += value;
    }
  }
  if (added.empty()) {
    return object;
  }
  const std::string_view whole = object.view();
  const std::string_view open = whole.substr(0, whole.size() - 1);
  return Payload::trusted(
      fmt::format("{}{}}}", open, present.empty() ? std::string_view(added).substr(1) : added));
}

}  // namespace holdfast

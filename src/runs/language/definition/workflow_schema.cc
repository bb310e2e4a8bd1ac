#include "runs/language/definition/workflow_schema.h"

#include <fmt/format.h>

#include <vector>

#include "base/json_slice.h"
#include "base/json_writer.h"
#include "runs/language/definition/language_fields.h"
#include "runs/language/definition/value_schemas.h"

namespace holdfast {

namespace {

using Form = LanguageField::Form;

constexpr const LanguageObject* kObjects[] = {
    &kAwaitEventObject, &kChildObject,          &kCodeRuleObject,
    &kCompensateObject, &kCircuitBreakerObject, &kCorrelationObject,
    &kCronObject,       &kDeadlineObject,       &kEventObject,
    &kExecObject,       &kForEachObject,        &kHttpObject,
    &kLogObject,        &kManualObject,         &kRetryObject,
    &kRetryRuleObject,  &kStepObject,           &kTimeoutObject,
    &kTransitionObject, &kTriggerObject,        &kWaitObject,
};

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

// The members of a JSON object, one after the other.
class Members {
 public:
  void add(std::string_view name, std::string_view json) {
    separate();
    text_ += quoted(name) + ":" + std::string(json);
  }
  void add_text(std::string_view name, std::string_view text) { add(name, quoted(text)); }
  // Members as text; none when it is empty.
  void add_all(std::string_view members) {
    if (!members.empty()) {
      separate();
      text_ += members;
    }
  }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  void separate() { text_ += text_.empty() ? "" : ","; }
  std::string text_;
};

std::string list_of(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

// The field is there, and not null.
std::string present(std::string_view field) {
  return fmt::format(R"({{"required":[{0}],"properties":{{{0}:{{"not":{{"type":"null"}}}}}}}})",
                     quoted(field));
}

std::string not_both(std::string_view first, std::string_view second) {
  return fmt::format(R"({{"not":{{"required":[{0},{1}],"properties":{{{0}:{2},{1}:{2}}}}}}})",
                     quoted(first), quoted(second), R"({"not":{"type":"null"}})");
}

std::string at_least_one(const FieldRule& rule) {
  std::vector<std::string> any;
  for (const std::string_view field : rule.fields) {
    if (!field.empty()) {
      any.push_back(present(field));
    }
  }
  return R"({"anyOf":)" + list_of(any) + "}";
}

// A reference to a definition; what may be left out may be null.
void add_reference(Members& members, std::string_view definition, const LanguageField& field) {
  const std::string reference = quoted(fmt::format("#/$defs/{}", definition));
  if (field.is_required) {
    members.add("$ref", reference);
  } else {
    members.add("anyOf", fmt::format(R"([{{"$ref":{}}},{{"type":"null"}}])", reference));
  }
}

void add_type(Members& members, std::string_view type, const LanguageField& field) {
  members.add("type", field.is_required ? quoted(type) : fmt::format(R"(["{}","null"])", type));
}

void add_choice(Members& members, const LanguageField& field) {
  std::vector<std::string> words;
  for (const std::string_view word : field.words) {
    words.push_back(quoted(word));
  }
  if (!field.is_required) {
    words.emplace_back("null");
  }
  members.add("enum", list_of(words));
}

std::string schema_of(const LanguageField& field) {
  Members members;
  members.add_text("description", field.doc);
  switch (field.form) {
    case Form::name:
      add_reference(members, "name", field);
      break;
    case Form::part:
      add_reference(members, field.schema, field);
      break;
    case Form::text:
      add_type(members, "string", field);
      if (field.text.least > 0) {
        members.add("minLength", std::to_string(field.text.least));
      }
      if (field.text.most != SIZE_MAX) {
        members.add("maxLength", std::to_string(field.text.most));
      }
      break;
    case Form::count:
      add_type(members, "integer", field);
      members.add("minimum", std::to_string(field.count.least));
      members.add("maximum", std::to_string(field.count.most));
      break;
    case Form::flag:
      add_type(members, "boolean", field);
      break;
    case Form::choice:
      add_choice(members, field);
      break;
    case Form::duration:
    case Form::other:
      break;
  }
  members.add_all(field.form == Form::part ? "" : field.schema);
  if (!field.fallback.empty()) {
    const bool is_text = field.form == Form::choice || field.form == Form::name;
    members.add("default", is_text ? quoted(field.fallback) : std::string(field.fallback));
  }
  return members.object();
}

// A duration is two fields.
void add_property(Members& properties, const LanguageField& field) {
  if (field.form != Form::duration) {
    properties.add(field.name, schema_of(field));
    return;
  }
  const std::string_view prefix = field.zero == Zero::refused ? "positive_" : "";
  const auto add = [&](const std::string& name, std::string_view type, std::string_view doc) {
    Members members;
    members.add_text("description", fmt::format("{} {}", field.doc, doc));
    add_reference(members, fmt::format("{}{}", prefix, type), field);
    properties.add(name, members.object());
  };
  const std::string name(field.name);
  add(name, "duration", R"(Such as "200ms", "5s", "1h30m".)");
  add(name + "_ms", "milliseconds", fmt::format("In milliseconds; instead of {}.", name));
}

// A step of one kind has none of the fields of the others.
void add_kind_rules(std::vector<std::string>& rules) {
  for (std::size_t i = 0; i < std::size(kEnumNames<StepKind>); ++i) {
    const std::string_view kind = kEnumNames<StepKind>[i];
    Members none;
    for (const std::string_view other : kEnumNames<StepKind>) {
      if (other != kind) {
        none.add(other, R"({"type":"null"})");
      }
    }
    kStepObject.for_each([&](const LanguageField& field) {
      if ((field.kinds & bit(static_cast<StepKind>(i))) == 0) {
        for_each_name(field,
                      [&](const std::string& name) { none.add(name, R"({"type":"null"})"); });
      }
    });
    rules.push_back(
        fmt::format(R"({{"if":{},"then":{{"properties":{}}}}})", present(kind), none.object()));
  }
}

std::vector<std::string> rules_of(const LanguageObject& object) {
  std::vector<std::string> rules;
  if (&object == &kStepObject) {
    add_kind_rules(rules);
  }
  object.for_each([&](const LanguageField& field) {
    if (field.form == Form::duration) {
      rules.push_back(not_both(field.name, std::string(field.name) + "_ms"));
    }
  });
  for (const FieldRule& rule : object.rules) {
    rules.push_back(rule.kind == FieldRule::Kind::not_both
                        ? not_both(rule.fields[0], rule.fields[1])
                        : at_least_one(rule));
  }
  if (!object.conditions.empty()) {
    rules.emplace_back(object.conditions);
  }
  return rules;
}

void add_body(Members& members, const LanguageObject& object) {
  members.add_all(R"("type":"object","additionalProperties":false)");
  std::vector<std::string> required;
  Members properties;
  object.for_each([&](const LanguageField& field) {
    if (field.is_required) {
      required.push_back(quoted(field.name));
    }
    add_property(properties, field);
  });
  if (!required.empty()) {
    members.add("required", list_of(required));
  }
  members.add("properties", properties.object());
  if (const auto rules = rules_of(object); !rules.empty()) {
    members.add("allOf", list_of(rules));
  }
}

std::string schema_of(const LanguageObject& object) {
  Members members;
  members.add_text("description", object.doc);
  if (object.short_forms.empty()) {
    add_body(members, object);
    return members.object();
  }
  Members body;
  add_body(body, object);
  members.add("anyOf", fmt::format("[{},{}]", object.short_forms, body.object()));
  return members.object();
}

// On one line where that is short and describes nothing.
class Indenter {
 public:
  // NOLINTNEXTLINE(misc-no-recursion): the schema is a few levels deep.
  std::string text(std::string_view json, std::size_t depth, std::size_t column) const {
    constexpr std::size_t kWidth = 100;
    const std::string line = one_line(json);
    const bool is_value = json.front() != '{' && json.front() != '[';
    if (is_value || (column + line.size() < kWidth && json.find("\"description\"") == json.npos)) {
      return line;
    }
    const std::string inner(2 * (depth + 1), ' ');
    std::string out(1, json.front());
    JsonSlicer slicer(json);
    for (const char* separator = "\n"; const auto item = slicer.next(); separator = ",\n") {
      const std::string name = json.front() == '{' ? fmt::format("\"{}\": ", item->name) : "";
      out += separator + inner + name + text(item->value, depth + 1, inner.size() + name.size());
    }
    return out + "\n" + std::string(2 * depth, ' ') + (json.front() == '{' ? "}" : "]");
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  static std::string one_line(std::string_view json) {
    if (json.front() != '{' && json.front() != '[') {
      return std::string(json);
    }
    std::vector<std::string> items;
    JsonSlicer slicer(json);
    while (const auto item = slicer.next()) {
      const std::string name = json.front() == '{' ? fmt::format("\"{}\": ", item->name) : "";
      items.push_back(name + one_line(item->value));
    }
    const std::string all = fmt::format("{}", fmt::join(items, ", "));
    return json.front() == '{' ? "{" + all + "}" : "[" + all + "]";
  }
};

}  // namespace

std::string workflow_schema() {
  auto definitions = value_schemas();
  for (const LanguageObject* object : kObjects) {
    definitions.emplace(object->name, schema_of(*object));
  }
  Members defs;
  for (const auto& [name, schema] : definitions) {
    defs.add(name, schema);
  }
  Members document;
  document.add_text("$schema", "https://json-schema.org/draft/2020-12/schema");
  document.add_text("$id", "holdfast-workflow");
  document.add_text("title", "Holdfast workflow");
  document.add_text("description", kWorkflowObject.doc);
  add_body(document, kWorkflowObject);
  document.add("$defs", defs.object());
  return Indenter().text(document.object(), 0, 0) + "\n";
}

}  // namespace holdfast

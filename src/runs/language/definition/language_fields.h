// The fields of the workflow language, object by object: what each is called, which values it
// takes, where it is allowed and what it is for. Each field is declared here and nowhere else. The
// readers take limits and fault codes from the declaration and refuse what is not declared
// (spec_reader.h); the JSON Schema is written from the same declarations (workflow_schema.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runs/language/definition/definition.h"
#include "runs/language/definition/fault_codes.h"

namespace holdfast {

struct TextLimits {
  std::size_t least = 1;
  std::size_t most = 1024;  // bytes
};
struct CountLimits {
  std::uint32_t least = 0;
  std::uint32_t most = UINT32_MAX;
};
// Whether a duration may be 0.
enum class Zero : std::uint8_t { allowed, refused };

inline constexpr TextLimits kAnyText{.least = 1, .most = SIZE_MAX};
inline constexpr TextLimits kEventLimits{.most = 255};
inline constexpr TextLimits kCodeLimits{.most = 128};
inline constexpr TextLimits kMessageLimits{.most = 8192};
inline constexpr std::size_t kMaxSteps = 10'000;
inline constexpr std::size_t kMaxTransitions = 10'000;
inline constexpr std::size_t kMaxTriggers = 1000;

// Steps of these kinds, as bits.
constexpr unsigned bit(StepKind kind) { return 1U << static_cast<unsigned>(kind); }
inline constexpr unsigned kAllKinds = ~0U;

struct LanguageField {
  enum class Form : std::uint8_t {
    name,
    text,
    count,
    flag,
    duration,  // <name>: "200ms", or <name>_ms: 200
    choice,    // one of `words`
    part,      // an object of the language, or a value that the schema calls `schema`
    other,     // as `schema` says, members of a JSON Schema
  };
  std::string_view name = {};
  Form form = Form::other;
  std::string_view doc = {};
  bool is_required = false;
  std::optional<FaultCode> fault_code = std::nullopt;  // empty: that of the object
  TextLimits text = {};
  CountLimits count = {};
  Zero zero = Zero::refused;
  std::span<const std::string_view> words = {};
  std::string_view fallback = {};  // the default; empty: none that a schema could name
  std::string_view schema = {};    // beside what the form says; members of a JSON Schema
  unsigned kinds = kAllKinds;      // of steps that can have it
  std::string_view why = {};       // the other kinds cannot

  [[nodiscard]] constexpr LanguageField required() const {
    LanguageField changed = *this;
    changed.is_required = true;
    return changed;
  }
  [[nodiscard]] constexpr LanguageField code(FaultCode fault) const {
    LanguageField changed = *this;
    changed.fault_code = fault;
    return changed;
  }
  [[nodiscard]] constexpr LanguageField with(std::string_view members) const {
    LanguageField changed = *this;
    changed.schema = members;
    return changed;
  }
  [[nodiscard]] constexpr LanguageField usually(std::string_view value) const {
    LanguageField changed = *this;
    changed.fallback = value;
    return changed;
  }
  [[nodiscard]] constexpr LanguageField only(unsigned allowed, std::string_view because) const {
    LanguageField changed = *this;
    changed.kinds = allowed;
    changed.why = because;
    return changed;
  }
};

// How the fields of an object exclude or need each other, as far as a schema says it.
struct FieldRule {
  enum class Kind : std::uint8_t { not_both, at_least_one } kind;
  std::array<std::string_view, 3> fields;
};

struct LanguageObject {
  std::string_view name = {};  // of its definition in the schema; empty: the whole document
  std::string_view doc = {};
  std::string_view short_forms = {};  // what may stand for the object: JSON Schemas, with commas
  std::span<const LanguageField> own = {};
  std::span<const LanguageField> shared = {};  // fields that other objects have as well
  std::span<const FieldRule> rules = {};
  std::string_view conditions = {};  // other rules: JSON Schemas, with commas

  // nullptr when there is none. A duration is found by both of its names.
  [[nodiscard]] const LanguageField* find(std::string_view field) const;
  // Calls `each` with every field.
  template <typename Each>
  void for_each(const Each& each) const {
    for (const LanguageField& field : own) {
      each(field);
    }
    for (const LanguageField& field : shared) {
      each(field);
    }
  }
};

// Calls `each` with every name that a field has in a text.
template <typename Each>
void for_each_name(const LanguageField& field, const Each& each) {
  each(std::string(field.name));
  if (field.form == LanguageField::Form::duration) {
    each(std::string(field.name) + "_ms");
  }
}

extern const LanguageObject kAwaitEventObject;
extern const LanguageObject kChildObject;
extern const LanguageObject kCircuitBreakerObject;
extern const LanguageObject kCodeRuleObject;
extern const LanguageObject kCompensateObject;
extern const LanguageObject kCorrelationObject;
extern const LanguageObject kCronObject;
extern const LanguageObject kDeadlineObject;
extern const LanguageObject kEventObject;
extern const LanguageObject kExecObject;
extern const LanguageObject kForEachObject;
extern const LanguageObject kHttpObject;
extern const LanguageObject kLogObject;
extern const LanguageObject kManualObject;
extern const LanguageObject kRetryObject;
extern const LanguageObject kRetryRuleObject;
extern const LanguageObject kStepObject;
extern const LanguageObject kTimeoutObject;
extern const LanguageObject kTransitionObject;
extern const LanguageObject kTriggerObject;
extern const LanguageObject kWaitObject;
extern const LanguageObject kWorkflowObject;

}  // namespace holdfast

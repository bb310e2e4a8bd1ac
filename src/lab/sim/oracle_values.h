// Operations on values, as docs/workflow-language.md defines them.
//
// Guarantees: a missing path does not match and is never an error; null is a value; conditions see
// the context with the result of the step merged into it; a mapping selects the values at its paths
// and fails if one is missing; of equal names the later value wins.
#pragma once

#include <optional>
#include <string>

#include "lab/sim/sim_value.h"

namespace holdfast::sim::model {

// The value at the path; empty if the path is missing.
std::optional<Value> at_path(const Value& data, const std::string& path);

bool holds(const Value& condition, const Value& data);

struct Mapped {
  Value value;
  bool missing = false;  // a path is missing
};
Mapped map_values(const Value& mapping, const Value& data);

// Replaces "{path}" by the value at that path.
std::string fill_in(const std::string& text, const Value& data);

// Whether the object has the fields of a contract with their types; other fields are allowed.
bool fits_contract(const Value& contract, const Value& object);
// Whether the object has no other fields.
bool has_only(const Value& contract, const Value& object);

// The time in a text (a date, or a date and a time with a zone) or a number of milliseconds.
std::optional<std::int64_t> time_in(const Value& value);

// Merges a result into the context: under its key, or member by member.
void join(Value& context, const std::string& output_key, const Value& result);

}  // namespace holdfast::sim::model

// Questions about values, as docs/workflow-language.md puts them.
//
// Promises: a path that leads nowhere is no match and never an error; null is something that is
// there; conditions are asked of the context with the result of the step included; a mapping takes
// what is at its paths, and a path that leads nowhere fails it; of equal names the later wins.
#pragma once

#include <optional>
#include <string>

#include "lab/sim/sim_value.h"

namespace holdfast::sim::model {

// What is at the path; empty: nothing.
std::optional<Value> at_path(const Value& data, const std::string& path);

bool holds(const Value& condition, const Value& data);

struct Mapped {
  Value value;
  bool missing = false;  // a path led nowhere
};
Mapped map_values(const Value& mapping, const Value& data);

// "{path}" replaced by what is there.
std::string fill_in(const std::string& text, const Value& data);

// Whether the object has the fields of a contract, in their types; others are allowed.
bool fits_contract(const Value& contract, const Value& object);
// Whether it has no others.
bool has_only(const Value& contract, const Value& object);

// The time in a text (a day, or a day and a time with a zone) or a number of milliseconds.
std::optional<std::int64_t> time_in(const Value& value);

// A result joins the context: under its key, or member by member.
void join(Value& context, const std::string& output_key, const Value& result);

}  // namespace holdfast::sim::model

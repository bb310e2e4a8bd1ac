// The JSON Schemas of the values that `data` reads: conditions, mappings, contracts, paths; and of
// names and durations. Part of workflow_schema.h.
#pragma once

#include <map>
#include <string>

namespace holdfast {

// By the name of the definition in the schema.
std::map<std::string, std::string> value_schemas();

}  // namespace holdfast

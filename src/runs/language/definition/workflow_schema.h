// The JSON Schema of workflow files, for editors: what fields and values the language has, written
// from the declarations that the readers use (language_fields.h). How steps fit together only
// Definition::check knows.
#pragma once

#include <string>

namespace holdfast {

// Indented, one line per member where it has a description, with a line end.
std::string workflow_schema();

}  // namespace holdfast

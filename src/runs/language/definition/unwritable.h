// Values that a WorkflowSpec can hold but no text can express. A spec that a program filled in is
// written as JSON and read like any other; these are the mistakes that would be lost on the way.
#pragma once

#include "runs/language/definition/faults.h"
#include "runs/language/definition/spec.h"

namespace holdfast {

// Texts that are not UTF-8, numbers of attempts that are 0.
void check_unwritable(const SpecLocation& whole, const WorkflowSpec& spec);

}  // namespace holdfast

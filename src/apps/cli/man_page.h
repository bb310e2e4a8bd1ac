// The manual page, made from the grammar and the help texts, so that it says what the program does.
#pragma once

#include <string>

#include "apps/cli/cli_parse.h"

namespace holdfast {

// holdfast.1, as man(7) has it.
std::string man_page(const CommandShape& program);

}  // namespace holdfast

// The manual page, made from the command table.
#pragma once

#include <string>

#include "apps/cli/cli_parse.h"

namespace holdfast::cli {

// holdfast.1, in the format of man(7).
std::string man_page(const CommandShape& program);

}  // namespace holdfast::cli

// Where a new store file is to be made.
#pragma once

#include <string>

#include "holdfast/result.h"

namespace holdfast {

// Whether a file exists at the path or can be created there: not_found when its folder does not
// exist, invalid_argument when that is not a folder, permission_denied. The message says what
// to do.
Result<void> check_folder_of(const std::string& path);

}  // namespace holdfast

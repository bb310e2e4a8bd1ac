// Journals as files, for tests: verified exports, and imports.
#pragma once

#include <string>

#include "storage/log/log.h"

namespace holdfast {

// Each function fails the test on an error.
std::string verified_export(Log& log);
void import_export(const std::string& path, const std::string& to_url);

}  // namespace holdfast

// Journals as files, for tests: exported with proof, and imported again.
#pragma once

#include <string>

#include "storage/log/log.h"

namespace holdfast {

// Each fails the test when it does not work.
std::string verified_export(Log& log);
void import_export(const std::string& path, const std::string& to_url);

}  // namespace holdfast

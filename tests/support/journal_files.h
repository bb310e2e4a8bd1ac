// Journals as files, for tests that also use runs: the headers that move journals and those of
// workflows give the same name to different things, so they are not included together.
#pragma once

#include <string>

#include "log/log.h"

namespace holdfast {

// Each fails the test when it does not work.
std::string verified_export(Log& log);
void import_export(const std::string& path, const std::string& to_url);

}  // namespace holdfast

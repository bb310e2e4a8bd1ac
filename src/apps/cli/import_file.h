// An export from a file or from standard input (-) into a store.
#pragma once

#include <string>

#include "holdfast/result.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast {

// Shows progress at a terminal. What import_journal gives; the error names the file.
Result<TransferReport> import_from(const std::string& path, const std::string& store);

}  // namespace holdfast

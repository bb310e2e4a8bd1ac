// Import of an export from a file or from standard input (-), and the report of a transfer.
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/cli_context.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast::cli {

// Shows progress at a terminal. Fails as import_journal does; the error names the file.
Result<TransferReport> import_from(const std::string& path, const std::string& store);

// "imported 3 batches; STORE is at position 3"
void print_transfer(std::string_view verb, const std::string& store, const TransferReport& report,
                    Context& context);

}  // namespace holdfast::cli

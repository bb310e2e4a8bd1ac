// `holdfast run` with a server: the server starts the run, and this program follows it.
#pragma once

#include "apps/cli/run_outcome.h"

namespace holdfast::cli {

Result<void> run_on_server(const RunFile& file, const RunOptions& options,
                           const NamedServer& server, Context& context);

}  // namespace holdfast::cli

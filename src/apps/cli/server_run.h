// `run` and `work` with a server: the run is started there and followed from here; steps are
// carried out here for the server.
#pragma once

#include "apps/cli/run_outcome.h"

namespace holdfast {

Result<void> run_on_server(const RunFileOptions& options, const RunFile& file,
                           const NamedServer& server, Context& context);
Result<void> work_for_server(const WorkOptions& options, const Loaded& definitions,
                             const NamedServer& server, Context& context);

}  // namespace holdfast

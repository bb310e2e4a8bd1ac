// The end of a process group.
#pragma once

#include <sys/types.h>

#include <optional>

namespace holdfast {

// Kills the group of a child of the caller, reaps the child and waits until no member runs any
// more. The child may have ended before, but must not have been reaped. Returns its status as
// from waitpid; empty if other code has reaped the child. Stops waiting for other members after a
// while: a process can be stuck in the kernel.
std::optional<int> end_process_group(pid_t leader);

}  // namespace holdfast

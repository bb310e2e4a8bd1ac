// The texts of the commands around servers: what each is for, and examples to copy.
#pragma once

#include "apps/cli/help_runs.h"

namespace holdfast::help {

extern const Text kServer;
extern const Text kWorker;
extern const Text kToken;
extern const Text kTokenCreate;
extern const Text kTokenList;
extern const Text kTokenRevoke;
extern const Text kBackup;
extern const Text kRestore;
extern const Text kQueues;
extern const Text kWorkers;
extern const Text kSchedules;
extern const Text kApprovals;

}  // namespace holdfast::help

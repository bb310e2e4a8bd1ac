// verify_journal for tests that also fold runs.
#pragma once

#include "storage/log/log.h"

namespace holdfast {

// Returns the first damage found.
Result<void> prove_journal(Log& log);

}  // namespace holdfast

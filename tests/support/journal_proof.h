// verify_journal for tests that also fold runs.
#pragma once

#include "log/log.h"

namespace holdfast {

// The first damage found.
Result<void> prove_journal(Log& log);

}  // namespace holdfast

// Public views out of the projections.
#pragma once

#include "engine/snapshot.h"
#include "holdfast/run.h"

namespace holdfast {

RunView view_of(const SnapshotSource& source);

}  // namespace holdfast

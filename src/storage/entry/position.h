// Position: the place of a batch in a log. The first batch has position 1; 0 is before all.
#pragma once

#include "base/counter.h"

namespace holdfast {

using Position = Counter<struct PositionTag>;

}  // namespace holdfast

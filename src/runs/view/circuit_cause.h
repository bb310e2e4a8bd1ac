// The cause of an attempt that waits behind an open circuit breaker.
#pragma once

#include "runs/view/explanation.h"

namespace holdfast {

Cause circuit_cause(const Attempt& attempt, const SharedText& queue, const OpenCircuit& open);

}  // namespace holdfast

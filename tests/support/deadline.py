"""How long tests wait for something that must happen."""

import os

# scripts/test.sh sets the factor where programs are slow: sanitizers, soak tests.
DEADLINE_S = 120 * int(os.environ.get("HOLDFAST_DEADLINE_FACTOR", "1"))

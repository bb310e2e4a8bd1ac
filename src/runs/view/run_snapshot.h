// The snapshot of a run: everything there is to know about it, for people and programs that look
// at it. A function of what the run thread and the queues say and of the time.
//
// Claims show who holds an attempt and until when, never what proves it. Of the correlations and
// keys of events only digests are shown, and no value under a key that names a secret.
#pragma once

#include "runs/view/run_source.h"

namespace holdfast {

JsonText run_snapshot(const RunSource& source);

}  // namespace holdfast

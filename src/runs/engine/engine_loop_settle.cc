// A loop without threads of its own: callers carry out everything that is due.
#include "runs/engine/engine_loop.h"

namespace holdfast {

TimesAhead Loop::settle(const Skills& skills) {
  HOLDFAST_ASSERT(options_.drive == LoopOptions::Drive::callers);
  Lock lock(mutex_);
  for (;;) {
    while (step(lock)) {
    }
    if (!deciding_ && !writing_ && !reporting_ && !has_step()) {
      return core_.times_ahead(skills, clock_.now());
    }
    idle_.wait(lock);
  }
}

}  // namespace holdfast

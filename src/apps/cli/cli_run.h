// The command line from arguments to exit code: 0 done, 1 done and the answer is bad (the run
// failed, the doctor found a fault), 2 the request cannot be carried out as given, 3 damaged data,
// 4 conflict, 5 the store or the machine failed, 6 the run waits, 130 interrupted. An error is
// exactly one line on standard error; with --json also an object {"error":{…}} on standard output.
#pragma once

#include <span>

#include "base/clock.h"
#include "base/random.h"

namespace holdfast {

int run_cli(std::span<char*> arguments, Clock& clock, Random& random);

}  // namespace holdfast

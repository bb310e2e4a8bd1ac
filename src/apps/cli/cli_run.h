// The command line from arguments to exit code: 0 success, 1 success with a negative result (the
// run failed, the doctor found a fault), 2 invalid request, 3 damaged data, 4 conflict, 5 the store
// or the system failed, 6 the run waits, 130 interrupted. An error is exactly one line on standard
// error; with
// --json also an object {"error":{…}} on standard output.
#pragma once

#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace holdfast::cli {

// The field of an error that replaces the exit code of its code.
inline constexpr std::string_view kExitCodeField = "exit_code";

int run_cli(std::span<char*> arguments, Clock& clock, Random& random);

}  // namespace holdfast::cli

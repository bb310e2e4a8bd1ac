// Executes an exec step: a process in its own process group receives the input as JSON on stdin;
// its stdout is the result. No shell is involved.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runs/language/definition/spec.h"
#include "runs/steps/step_output.h"

namespace holdfast {

inline constexpr std::size_t kMaxExecOutputBytes = 1U << 20U;  // of stdout
inline constexpr std::size_t kKeptStderrBytes = 8192;          // the last bytes

// environment: variables besides those of the worker and of the step, such as HOLDFAST_RUN_ID. When
// stop is requested, the whole process group is killed before this returns.
StepOutput run_exec(const ExecSpec& spec, std::string_view input,
                    const std::vector<std::pair<std::string, std::string>>& environment,
                    const std::stop_token& stop);

}  // namespace holdfast

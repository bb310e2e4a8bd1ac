// Carries out an exec step: a process of its own process group gets the input as JSON on stdin,
// its stdout is the result. Nothing goes through a shell.
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
inline constexpr std::size_t kKeptStderrBytes = 8192;          // the last ones

// environment: what the process gets beside the worker's own and the step's, HOLDFAST_RUN_ID for
// example. When stop is requested the whole process group is killed, and nothing of it is left
// when this returns.
StepOutput run_exec(const ExecSpec& spec, std::string_view input,
                    const std::vector<std::pair<std::string, std::string>>& environment,
                    const std::stop_token& stop);

}  // namespace holdfast

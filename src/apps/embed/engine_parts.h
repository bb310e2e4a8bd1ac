// What the test kit puts into an engine in place of the store, the randomness and the threads of a
// program, and its access to the loop. A private header: programs use holdfast/testing.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "holdfast/engine.h"
#include "runs/engine/engine_core.h"
#include "storage/log/store.h"

namespace holdfast {

struct EngineParts {
  std::unique_ptr<Store> store;
  std::uint64_t seed = 0;  // of ids and tokens
  // The handler to call instead of an http or exec step of this name; empty: execute the step.
  std::function<StepHandler(std::string_view step)> find_stub = nullptr;
};

// An engine of parts has no threads of its own: nothing happens between two calls.
struct EngineAccess {
  static Result<Engine> open(EngineParts parts, const EngineOptions& options);
  // Does everything that is due, except for executing steps.
  static TimesAhead settle(Engine& engine);
};

}  // namespace holdfast

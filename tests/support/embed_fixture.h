// What the tests of the embedded engine share: an in-memory engine, the one-step workflow "job", a
// pool that the test stops.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "holdfast/holdfast.h"
#include "tests/support/must.h"

namespace holdfast {

using std::chrono::milliseconds;

inline constexpr milliseconds kLong{60'000};  // a deadline, not a delay

inline Engine open_engine(const std::string& url = "memory:", const EngineOptions& options = {}) {
  return must(Engine::open(url, options));
}

inline StepResult nothing(StepContext& /*context*/, std::string_view /*input*/) {
  return StepResult::ok();
}

// The workflow "job" with one step, "work".
inline void register_job(Engine& engine, StepHandler handler, StepSettings settings = {}) {
  must(engine.register_workflow(Workflow("job").step("work", std::move(settings))));
  must(engine.register_handler("work", std::move(handler)));
}

inline std::string start_job(Engine& engine, std::string_view input = "{}",
                             const StartOptions& options = {}) {
  return must(engine.start("job", input, options)).run_id;
}

inline RunView inspect(Engine& engine, const std::string& run) { return must(engine.inspect(run)); }

// A pool in its own thread; it stops with the test.
class Pool {
 public:
  Pool(Engine& engine, std::size_t threads)
      : thread_([&engine, threads, this](const std::stop_token& stop) {
          worked_ = engine.work(threads, stop);
        }) {}
  Result<void> stop() {
    thread_.request_stop();
    thread_.join();
    return worked_;
  }

 private:
  Result<void> worked_;
  std::jthread thread_;
};

class Gate {
 public:
  void open() { promise_.set_value(); }
  void wait() { ASSERT_EQ(future_.wait_for(kLong), std::future_status::ready); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future();
};

}  // namespace holdfast

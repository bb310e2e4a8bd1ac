// For tests of workflow features, seen from an embedding program: an engine with a pool, and
// handlers that return given results and record their calls.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/embed_fixture.h"

namespace holdfast {

class FeatureTest : public testing::Test {
 protected:
  explicit FeatureTest(const EngineOptions& options = {})
      : engine_(open_engine("memory:", options)) {}
  ~FeatureTest() override { stop_pool(); }

  void define(std::string_view yaml) { must(engine_.register_workflow_yaml(yaml)); }
  using Answer = std::function<StepResult(StepContext& context, std::string_view input)>;
  // Registers a handler whose calls are recorded. A running pool does not see new handlers, so the
  // pool is restarted.
  void handle(const std::string& name, Answer answer = nothing) {
    stop_pool();
    must(engine_.register_handler(
        name, [this, name, answer = std::move(answer)](StepContext& context, std::string_view in) {
          {
            const std::scoped_lock lock(mutex_);
            calls_.push_back(name);
            inputs_[name] = std::string(in);
          }
          return answer(context, in);
        }));
  }
  void handle_all(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      handle(name);
    }
  }
  static Answer says(std::string json) {
    return
        [json = std::move(json)](StepContext&, std::string_view) { return StepResult::ok(json); };
  }

  // Executes the steps of everything registered so far.
  void work() {
    if (pool_ == nullptr) {
      pool_ = std::make_unique<Pool>(engine_, 2);
    }
  }
  void stop_pool() {
    if (pool_ != nullptr) {
      must(pool_->stop());
      pool_.reset();
    }
  }
  std::string start(std::string_view workflow, std::string_view input = "{}",
                    const StartOptions& options = {}) {
    work();
    return must(engine_.start(workflow, input, options)).run_id;
  }
  RunView end_of(const std::string& run) {
    RunView view = must(engine_.wait(run, kLong));
    EXPECT_TRUE(view.terminal) << view.json;
    return view;
  }
  RunView run(std::string_view workflow, std::string_view input = "{}") {
    return end_of(start(workflow, input));
  }
  // The run, once its snapshot satisfies the condition.
  RunView until(const std::string& run, const std::function<bool(const RunView&)>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    RunView view = inspect(engine_, run);
    while (!condition(view)) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "the condition never held: " << view.json;
        break;
      }
      // Returns early when the run ends; otherwise polls again.
      view = must(engine_.wait(run, milliseconds(2)));
    }
    return view;
  }
  RunView until_paused(const std::string& run) {
    return until(run, [](const RunView& view) { return view.status == "paused" || view.terminal; });
  }
  RunView until_parked(const std::string& run) {
    return until(run, [](const RunView& view) { return view.status == "parked" || view.terminal; });
  }
  std::vector<std::string> calls() {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  std::string input_of(const std::string& handler) {
    const std::scoped_lock lock(mutex_);
    return inputs_[handler];
  }
  static StepView step(const RunView& view, const std::string& name) {
    for (const StepView& step : view.steps) {
      if (step.name == name) {
        return step;
      }
    }
    ADD_FAILURE() << "no step " << name << " in " << view.json;
    return {};
  }

  Engine engine_;

 private:
  std::mutex mutex_;
  std::vector<std::string> calls_;
  std::map<std::string, std::string> inputs_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace holdfast

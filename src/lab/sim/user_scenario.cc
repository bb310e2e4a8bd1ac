#include "lab/sim/user_scenario.h"

#include <algorithm>
#include <chrono>

#include "runs/facts/activation.h"
#include "runs/steps/built_in.h"
#include "runs/steps/step_outcome.h"

namespace holdfast::sim {

namespace {

constexpr std::int64_t kMillisecond = 1000;

const StubOutcome& plain_ok() {
  static const StubOutcome ok;
  return ok;
}

class UserScenario final : public Scenario {
 public:
  UserScenario(std::shared_ptr<const UserSetting> setting, std::uint64_t seed)
      : setting_(std::move(setting)), dice_(Dice(seed).about("user scenario")) {}

  [[nodiscard]] std::vector<std::string> definitions(bool /*calm*/) const override {
    std::vector<std::string> texts;
    for (const auto& definition : setting_->workflows) {
      texts.emplace_back(definition->spec().view());
    }
    return texts;
  }

  [[nodiscard]] StartRequest start(const Dice& dice) const override {
    const auto& inputs = setting_->world.inputs;
    StartRequest request;
    request.workflow = setting_->workflows.front()->workflow().str();
    request.input = std::string(inputs[dice.below(inputs.size(), "input")].view());
    request.trigger = setting_->world.trigger;
    return request;
  }

  [[nodiscard]] HandlerAnswer answer(const Assignment& attempt) const override {
    const Stub* stub = stub_of(attempt);
    if (setting_->real && attempt.handler.view() == kExecHandler) {
      return really_executed(attempt, stub);
    }
    const Dice dice = dice_.about(attempt.runnable_key.view());
    static const Stub kPlain;
    const Stub& known = stub == nullptr ? kPlain : *stub;
    const std::optional<std::size_t> which = draw(known, attempt, dice);
    const StubOutcome& outcome = which.has_value() ? known.outcomes[*which] : plain_ok();
    HandlerAnswer answer = answer_of(outcome);
    answer.takes_us = outcome.takes.value_or(known.takes).draw(dice, "takes");
    if (which.has_value()) {
      answer.name = known.name + "[" + std::to_string(*which) + "]";
    }
    return answer;
  }

  // Operators act through the observer.
  [[nodiscard]] std::optional<ManualAction> decide(const ManualState& /*at*/, const Dice& /*dice*/,
                                                   bool /*calm*/) const override {
    return std::nullopt;
  }

  [[nodiscard]] std::unique_ptr<Observer> observer(Simulation& simulation) const override {
    return make_user_observer(*setting_, simulation, dice_.about("people"));
  }

  [[nodiscard]] std::int64_t longest_end_us() const override {
    return std::max(Scenario::longest_end_us(), 4 * longest_us(*setting_));
  }

 private:
  // The stub of the step takes precedence over that of its handler.
  [[nodiscard]] const Stub* stub_of(const Assignment& attempt) const {
    const Activation what = parse_activation(attempt.step.view());
    const std::string step =
        (what.compensation ? std::string(kCompensatePrefix) : "") + std::string(what.step);
    const UserWorld& world = setting_->world;
    if (const auto own = world.steps.find(step); own != world.steps.end()) {
      return &own->second;
    }
    const auto handler = world.handlers.find(attempt.handler.str());
    return handler == world.handlers.end() ? nullptr : &handler->second;
  }

  static std::optional<std::size_t> draw(const Stub& stub, const Assignment& attempt,
                                         const Dice& dice) {
    const std::string_view input = attempt.input.empty() ? "{}" : attempt.input.view();
    std::vector<std::size_t> fitting;
    std::uint64_t weights = 0;
    for (std::size_t i = 0; i < stub.outcomes.size(); ++i) {
      const StubOutcome& outcome = stub.outcomes[i];
      if (!outcome.when.has_value() || outcome.when->matches(ObjectView(input))) {
        fitting.push_back(i);
        weights += outcome.weight;
      }
    }
    if (weights == 0) {
      return std::nullopt;
    }
    std::uint64_t luck = dice.below(weights, "outcome");
    for (const std::size_t i : fitting) {
      if (luck < stub.outcomes[i].weight) {
        return i;
      }
      luck -= stub.outcomes[i].weight;
    }
    return std::nullopt;
  }

  static HandlerAnswer answer_of(const StubOutcome& outcome) {
    HandlerAnswer answer;
    answer.done = outcome.done;
    answer.never = outcome.kind == StubOutcome::Kind::never;
    if (outcome.kind == StubOutcome::Kind::error) {
      Failure failure = step_failure(outcome.code, outcome.message, outcome.retryable);
      failure.retry_after_ms = outcome.retry_after_ms;
      answer.outcome = failure;
    } else {
      Completion done;
      done.result = outcome.result;
      done.execution_opts = outcome.opts;
      answer.outcome = done;
    }
    return answer;
  }

  // The duration is the declared one, or else the time the program took.
  [[nodiscard]] HandlerAnswer really_executed(const Assignment& attempt, const Stub* stub) const {
    HandlerAnswer answer;
    const auto definition =
        std::find_if(setting_->workflows.begin(), setting_->workflows.end(),
                     [&](const auto& known) { return known->workflow() == attempt.workflow; });
    const Step& step = (*definition)->steps()[*(*definition)->find(attempt.step.view())];
    const auto begin = std::chrono::steady_clock::now();
    StepInfo info;
    info.run_id = to_string(attempt.run_id);
    info.workflow = attempt.workflow.str();
    info.step = attempt.step.str();
    info.attempt = attempt.attempt_number;
    info.idempotency_key = attempt.idempotency_key.str();
    answer.outcome = execute(*step.spec.exec, {std::move(info), attempt.input.view(), {}}, {});
    const auto took = std::chrono::steady_clock::now() - begin;
    answer.takes_us =
        stub != nullptr && stub->takes_given
            ? stub->takes.draw(dice_.about(attempt.runnable_key.view()), "takes")
            : std::chrono::duration_cast<std::chrono::milliseconds>(took).count() * kMillisecond;
    answer.done = std::holds_alternative<Completion>(answer.outcome);
    return answer;
  }

  std::shared_ptr<const UserSetting> setting_;
  Dice dice_;
};

}  // namespace

Result<Workflows> simulated(const Workflows& workflows) {
  Workflows plain;
  for (const auto& definition : workflows) {
    for (const Step& step : definition->steps()) {
      const auto is_child = [&](const auto& other) {
        return other->workflow() == step.spec.child->workflow;
      };
      if (step.spec.child.has_value() &&
          std::none_of(workflows.begin(), workflows.end(), is_child)) {
        return Error{ErrorCode::invalid_argument,
                     "step " + step.name.str() + " of workflow " + definition->workflow().str() +
                         " starts workflow " + step.spec.child->workflow.str() +
                         ": name its file with --with"};
      }
    }
    WorkflowSpec spec = definition->parts();
    for (TriggerSpec& trigger : spec.triggers) {
      trigger.cron.reset();
    }
    HOLDFAST_TRY(auto without_cron, Definition::create(spec));
    plain.push_back(std::move(without_cron));
  }
  return plain;
}

std::unique_ptr<Scenario> make_user_scenario(const std::shared_ptr<const UserSetting>& setting,
                                             std::uint64_t seed) {
  return std::make_unique<UserScenario>(setting, seed);
}

}  // namespace holdfast::sim

#include "lab/sim/sim_versions.h"

#include <algorithm>
#include <vector>

#include "lab/sim/sim_value.h"

namespace holdfast::sim {

namespace {

class Editor {
 public:
  Editor(const std::string& text, const Dice& dice) : spec_(Value::parse(text)), dice_(dice) {
    steps_ = spec_["steps"].list();
    transitions_ = spec_["transitions"].list();
  }

  std::string edited() && {
    const std::uint64_t changes = 1 + dice_.below(3, "changes");
    for (std::uint64_t i = 0; i < changes; ++i) {
      change(dice_.about("change", i));
    }
    spec_.set("version", "v" + std::to_string(dice_.below(1000, "version")));
    spec_.set("steps", steps_);
    if (transitions_.empty()) {
      spec_.erase("transitions");
    } else {
      spec_.set("transitions", transitions_);
    }
    return spec_.text();
  }

 private:
  void change(const Dice& dice) {
    Value& step = steps_[dice.below(steps_.size(), "step")];
    switch (dice.below(12, "kind")) {
      case 0:
      case 1:
      case 2:
        add_step(dice);
        return;
      case 3:
        if (steps_.size() > 1) {
          remove(step["name"].string());
        }
        return;
      case 4:
        step.set("handler", "h2");
        return;
      case 5:
        step.set("retry", Value::object({{"max_attempts", std::int64_t{4}}}));
        return;
      case 6:
        wait_for_others(step, dice);
        return;
      case 7:
        toggle(step, "output", "out" + step["name"].string());
        return;
      case 8:
        toggle(spec_, "timeout", "2h");
        return;
      case 9:
        change_route(dice);
        return;
      case 10:
        spec_.set("max_visits", static_cast<std::int64_t>(1 + dice.below(4, "visits")));
        return;
      default:
        std::rotate(steps_.begin(), steps_.begin() + 1, steps_.end());
        return;
    }
  }

  static void toggle(Value& object, const std::string& member, const std::string& value) {
    if (object.has(member)) {
      object.erase(member);
    } else {
      object.set(member, value);
    }
  }

  void add_step(const Dice& dice) {
    Value step = Value::object({{"name", "x" + std::to_string(dice.below(3, "name"))}});
    const std::uint64_t kind = dice.below(6, "what");
    if (kind == 0) {
      step.set("wait", "3s");
    } else if (kind == 1) {
      step.set("approval", true);
    } else if (kind == 2) {
      step.set("compensate", "undo");
    }
    wait_for_others(step, dice);
    steps_.push_back(step);
  }

  void wait_for_others(Value& step, const Dice& dice) {
    Value::List after;
    for (const Value& other : steps_) {
      const std::string& name = other["name"].string();
      if (name == step["name"].string()) {
        break;  // only earlier ones
      }
      if (dice.chance(40, "after " + name)) {
        after.emplace_back(name);
      }
    }
    step.erase("after");
    if (!after.empty()) {
      step.set("after", after);
    }
  }

  // By value: the list changes.
  void remove(const std::string name) {  // NOLINT(performance-unnecessary-value-param)
    std::erase_if(steps_, [&](const Value& step) { return step["name"].string() == name; });
    std::erase_if(transitions_, [&](const Value& transition) {
      return transition["from"].string() == name || transition["to"].string() == name;
    });
    for (Value& step : steps_) {
      Value::List after = step["after"].list();
      std::erase(after, Value(name));
      step.erase("after");
      if (!after.empty()) {
        step.set("after", after);
      }
    }
  }

  void change_route(const Dice& dice) {
    if (transitions_.empty()) {
      return;
    }
    const std::uint64_t which = dice.below(transitions_.size(), "route");
    if (dice.chance(50, "gone")) {
      transitions_.erase(transitions_.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      transitions_[which].set("to", dice.chance(50, "to") ? "complete" : "fail");
    }
  }

  Value spec_;
  Dice dice_;
  Value::List steps_;
  Value::List transitions_;
};

}  // namespace

std::string other_version(const std::string& definition, const Dice& dice) {
  return Editor(definition, dice).edited();
}

}  // namespace holdfast::sim

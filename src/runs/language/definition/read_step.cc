#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

// What to write instead, where there is something.
std::string_view instead(StepKind kind, std::string_view field) {
  if (kind == StepKind::child && field == "queue") {
    return "; use child.queue";
  }
  if (kind == StepKind::await_event && field == "timeout") {
    return "; use await_event.timeout";
  }
  return "";
}

class StepReader {
 public:
  StepReader(const SpecLocation& location, std::string_view slice, StepSpec& step)
      : object_(location.with(FaultCode::invalid_step), slice, kStepObject), step_(step) {}

  void read() {
    if (!object_.is_object()) {
      return;
    }
    read_step_name();
    read_kind();
    read_call();
    read_data();
    read_recovery();
    read_times();
    object_.read("description", step_.description);
    object_.read("max_visits", step_.max_visits);
    if (const auto after = object_.find("after")) {
      read_after(*after);
    }
    refuse_what_does_not_fit();
    object_.finish();
  }

 private:
  void read_step_name() {
    object_.read("name", step_.name);
    if (step_.name == kCompleteStep || step_.name == kFailStep) {
      object_.at("name").fault(
          fmt::format("is {}, which is reserved for transitions; choose another name",
                      quote(step_.name.view())));
    }
    SpecLocation named = object_.location().with(FaultCode::invalid_step_opts);
    object_.set_location(step_.name.empty() ? named
                                            : named.called("step " + quote(step_.name.view())));
  }

  void read_kind() {
    object_.read("handler", step_.handler);
    object_.read_part("log", read_log, step_.log);
    object_.read_part("wait", read_wait, step_.wait);
    object_.read_part("pause", read_manual, step_.pause);
    object_.read_part("approval", read_manual, step_.approval);
    object_.read_part("await_event", read_await_event, step_.await_event);
    object_.read_part("http", read_http, step_.http);
    object_.read_part("exec", read_exec, step_.exec);
    object_.read_part("child", read_child, step_.child);
    std::vector<std::string_view> kinds;
    for (const std::string_view kind : kEnumNames<StepKind>) {
      if (object_.has(kind)) {
        kinds.push_back(kind);
      }
    }
    if (kinds.size() > 1) {
      object_.location().fault(
          FaultCode::invalid_step_module,
          fmt::format("has {}; a step can have only one of them", fmt::join(kinds, " and ")));
    }
    several_kinds_ = kinds.size() > 1;
  }

  void read_call() {
    object_.read("queue", step_.queue);
    object_.read_part("retry", read_retry, step_.retry);
    if (step_.child.has_value() && step_.retry.then == AfterRetries::park) {
      object_.at("retry").at("then").fault(
          "cannot be park for a child step: let the steps of the child park");
    }
    object_.read_part("compensate", read_compensate, step_.compensate);
    object_.read_part("for_each", read_for_each, step_.for_each);
  }

  void read_data() {
    object_.read_part("input", read_mapping, step_.input);
    object_.read("output", step_.output);
    object_.read_part("input_schema", read_contract, step_.input_schema);
    object_.read_part("output_schema", read_contract, step_.output_schema);
  }

  void read_recovery() {
    object_.read("irreversible", step_.irreversible);
    bool compensatable = false;
    if (const auto slice = object_.find("compensatable");
        slice.has_value() && read_flag(object_.at("compensatable"), *slice, compensatable)) {
      step_.compensatable = compensatable;
    }
    if (step_.irreversible && step_.compensatable.value_or(false)) {
      object_.location().fault(FaultCode::conflicting_step_recovery_markers,
                               "is both irreversible and compensatable; remove one");
    }
    if (step_.compensate.has_value() && step_.irreversible) {
      object_.at("compensate")
          .fault(FaultCode::conflicting_step_compensation, "contradicts irreversible; remove one");
    }
    if (step_.compensate.has_value() && !step_.compensatable.value_or(true)) {
      object_.at("compensate")
          .fault(FaultCode::conflicting_step_compensation,
                 "contradicts compensatable: false; remove one");
    }
  }

  void read_times() {
    read_policy(object_, step_.policy);
    object_.read_part("deadline", read_deadline, step_.deadline);
  }

  void read_after(std::string_view slice) {
    const SpecLocation at = object_.at("after");
    if (slice.starts_with('"')) {
      read_text(at, slice, step_.after.emplace_back(), kAnyText);
      return;
    }
    const auto items = read_items(at, slice);
    for (std::size_t i = 0; i < items.size(); ++i) {
      read_text(at.at(i), items[i], step_.after.emplace_back(), kAnyText);
    }
  }

  void refuse_what_does_not_fit() {
    if (several_kinds_) {
      return;
    }
    const StepKind kind = kind_of(step_);
    const bool vowel = kind == StepKind::approval || kind == StepKind::await_event;
    kStepObject.for_each([&](const LanguageField& field) {
      for_each_name(field, [&](const std::string& name) {
        if ((field.kinds & bit(kind)) == 0 && object_.has(name)) {
          object_.location().at(name).fault(fmt::format("cannot be used with {} {} step: {}{}",
                                                        vowel ? "an" : "a", to_text(kind),
                                                        field.why, instead(kind, name)));
        }
      });
    });
  }

  SpecObject object_;
  StepSpec& step_;
  bool several_kinds_ = false;
};

}  // namespace

StepKind kind_of(const StepSpec& step) {
  const std::array<std::pair<bool, StepKind>, 8> kinds = {{
      {step.log.has_value(), StepKind::log},
      {step.wait.has_value(), StepKind::wait},
      {step.pause.has_value(), StepKind::pause},
      {step.approval.has_value(), StepKind::approval},
      {step.await_event.has_value(), StepKind::await_event},
      {step.http.has_value(), StepKind::http},
      {step.exec.has_value(), StepKind::exec},
      {step.child.has_value(), StepKind::child},
  }};
  const auto* found = std::find_if(kinds.begin(), kinds.end(),
                                   [](const auto& candidate) { return candidate.first; });
  return found == kinds.end() ? StepKind::handler : found->second;
}

void read_deadline(const SpecLocation& location, std::string_view slice, DeadlineSpec& deadline) {
  const SpecObject object(location, slice, kDeadlineObject);
  object.read_all(deadline);
  if (object.is_object() && !object.has("within") && !object.has("within_ms")) {
    object.at("within").fault("is missing");
  }
  if (deadline.within_ms > 0 && deadline.due_soon_ms >= deadline.within_ms) {
    object.at("due_soon").fault("must be shorter than within");
  }
  object.finish();
}

void read_for_each(const SpecLocation& location, std::string_view slice, ForEachSpec& for_each) {
  const auto read_each = [&](const SpecLocation& at, std::string_view items) {
    if (items.starts_with('"')) {
      SharedText path;
      if (read_text(at, items, path, {})) {
        check_path(at, path.view());
      }
    } else if (!items.starts_with('[')) {
      at.fault("must be a list, or a path to one");
    }
    for_each.items = read_json(at, items);
  };
  if (!slice.starts_with('{')) {
    read_each(location, slice);
    return;
  }
  const SpecObject object(location, slice, kForEachObject);
  if (const auto items = object.need("items")) {
    read_each(object.at("items"), *items);
  }
  object.read_all(for_each);
  object.finish();
}

void read_step(const SpecLocation& location, std::string_view slice, StepSpec& step) {
  StepReader(location, slice, step).read();
}

}  // namespace holdfast

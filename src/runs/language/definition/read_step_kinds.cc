#include <fmt/format.h>

#include <algorithm>

#include "runs/language/data/contract.h"
#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 2026-... is read as a time, never as a path.
bool looks_like_time(std::string_view text) {
  return text.size() > 4 && std::all_of(text.begin(), text.begin() + 4, is_digit) && text[4] == '-';
}

void read_until(const SpecLocation& location, std::string_view slice, WaitSpec& wait) {
  SharedText text;
  if (!read_text(location, slice, text, {})) {
    return;
  }
  if (looks_like_time(text.view())) {
    if (!parse_iso8601(text.view()).has_value()) {
      location.fault("is not a time; write it like 2026-11-16T08:30:00Z");
    }
  } else {
    check_path(location, text.view());
  }
  wait.until = read_json(location, slice);
}

constexpr std::size_t kMaxCorrelationBytes = 1024;

void read_correlation(const SpecLocation& location, std::string_view slice, Payload& correlation) {
  if (slice.starts_with('"')) {
    SharedText literal;
    read_text(location, slice, literal, {.most = kMaxCorrelationBytes});
  } else {
    const SpecObject object(location, slice, kCorrelationObject);
    if (const auto path = object.need("path")) {
      SharedText text;
      if (read_text(object.at("path"), *path, text, {})) {
        check_path(object.at("path"), text.view());
      }
    }
    object.finish();
  }
  correlation = read_json(location, slice);
}

void read_event_fields(const SpecObject& object, EventSpec& event) {
  if (const auto name = object.need("event")) {
    read_text(object.at("event"), *name, event.event, kEventLimits);
  }
  object.read_part("correlation", read_correlation, event.correlation);
}

void read_event(const SpecLocation& location, std::string_view slice, EventSpec& event) {
  if (slice.starts_with('"')) {
    read_text(location, slice, event.event, kEventLimits);
    return;
  }
  const SpecObject object(location, slice, kEventObject);
  read_event_fields(object, event);
  object.finish();
}

void read_any_of(const SpecLocation& location, std::string_view slice,
                 std::vector<EventSpec>& any_of) {
  const auto items = read_items(location, slice);
  if (items.empty() && slice == "[]") {
    location.fault("must name at least one event");
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    EventSpec event;
    read_event(location.at(i), items[i], event);
    if (std::find(any_of.begin(), any_of.end(), event) != any_of.end()) {
      location.at(i).fault("appears twice");
    }
    any_of.push_back(std::move(event));
  }
}

}  // namespace

void read_log(const SpecLocation& location, std::string_view slice, LogSpec& log) {
  if (slice.starts_with('"')) {
    read_text(location.with(FaultCode::invalid_log_message), slice, log.message, kMessageLimits);
    return;
  }
  const SpecObject object(location, slice, kLogObject);
  object.read_all(log);
  object.finish();
}

void read_wait(const SpecLocation& location, std::string_view slice, WaitSpec& wait) {
  const SpecLocation at = location.with(FaultCode::invalid_wait_duration);
  if (slice.starts_with('"')) {
    read_duration_text(at, slice, Zero::refused, wait.for_ms);
    return;
  }
  if (!slice.starts_with('{')) {
    read_duration_ms(at, slice, Zero::refused, wait.for_ms);
    return;
  }
  SpecObject object(at, slice, kWaitObject);
  const bool has_for = object.read("for", wait.for_ms);
  const auto until = object.find("until");
  if (until.has_value()) {
    read_until(object.at("until"), *until, wait);
  }
  if (has_for == until.has_value()) {
    at.fault(has_for ? "has both for and until; remove one" : "needs for or until");
  }
  object.set_location(location);
  object.finish();
}

void read_manual(const SpecLocation& location, std::string_view slice, ManualSpec& manual) {
  if (slice == "true") {
    return;
  }
  if (!slice.starts_with('{')) {
    location.fault("must be true, or an object with a reason");
    return;
  }
  const SpecObject object(location, slice, kManualObject);
  object.read("reason", manual.reason);
  object.finish();
}

void read_await_event(const SpecLocation& location, std::string_view slice,
                      AwaitEventSpec& await_event) {
  if (slice.starts_with('"')) {
    read_event(location, slice, await_event.any_of.emplace_back());
    return;
  }
  const SpecObject object(location, slice, kAwaitEventObject);
  if (!object.is_object()) {
    return;
  }
  const auto any_of = object.find("any_of");
  const bool single = object.has("event") || object.has("correlation");
  if (any_of.has_value() && single) {
    object.at("any_of").fault("and event are both given; put the event into any_of");
  }
  if (any_of.has_value()) {
    read_any_of(object.at("any_of"), *any_of, await_event.any_of);
  } else {
    read_event_fields(object, await_event.any_of.emplace_back());
  }
  const bool timed = object.read("timeout", await_event.timeout_ms);
  object.read("on_timeout", await_event.on_timeout);
  if (object.has("on_timeout") && !timed) {
    object.at("on_timeout").fault("needs a timeout");
  }
  object.finish();
}

void read_exec(const SpecLocation& location, std::string_view slice, ExecSpec& exec) {
  constexpr TextLimits kArgumentLimits{.least = 0, .most = 65'536};
  const auto read_command = [&](const SpecLocation& at, std::string_view command) {
    const auto items = read_items(at, command);
    for (std::size_t i = 0; i < items.size(); ++i) {
      SharedText& part = exec.command.emplace_back();
      read_text(at.at(i), items[i], part, kArgumentLimits);
      if (part.view().find('\0') != std::string_view::npos) {
        at.at(i).fault("contains a zero byte");
      }
    }
    if (command.starts_with('[') && (items.empty() || items.front() == "\"\"")) {
      at.fault("names no program; write [\"program\", \"argument\", ...]");
    }
  };
  if (!slice.starts_with('{')) {
    read_command(location, slice);
    return;
  }
  const SpecObject object(location, slice, kExecObject);
  if (const auto command = object.need("command")) {
    read_command(object.at("command"), *command);
  }
  object.read("directory", exec.directory);
  if (const auto environment = object.find("environment")) {
    for (const auto& [name, value] : read_members(object.at("environment"), *environment)) {
      const SpecLocation at = object.at("environment").at(name);
      SharedText& text = exec.environment[name];
      read_text(at, value, text, kArgumentLimits);
      if (name.empty() || name.find('=') != std::string::npos ||
          name.find('\0') != std::string::npos ||
          text.view().find('\0') != std::string_view::npos) {
        at.fault("is not a valid environment variable: no \"=\" in the name, and no zero byte");
      }
    }
  }
  object.finish();
}

void read_child(const SpecLocation& location, std::string_view slice, ChildSpec& child) {
  if (slice.starts_with('"')) {
    read_name(location, slice, "workflow", child.workflow);
    return;
  }
  const SpecObject object(location, slice, kChildObject);
  object.read("workflow", child.workflow);
  object.read("trigger", child.trigger);
  object.read("queue", child.queue);
  object.read("key", child.key);
  object.read("detached", child.detached);
  child.on_parent_close = child.detached ? ParentClose::detach : ParentClose::cancel;
  object.read("on_parent_close", child.on_parent_close);
  object.finish();
}

}  // namespace holdfast

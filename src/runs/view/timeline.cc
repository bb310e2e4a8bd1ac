#include "runs/view/timeline.h"

#include <utility>

#include "runs/run/run_fact.h"
#include "runs/view/timeline_bars.h"
#include "runs/view/timeline_events.h"

namespace holdfast {

struct TimelineBuilder::State {
  State(const RunId& id, FindDefinition find_definition)
      : run_id(id),
        text(to_string(id)),
        thread(run_thread(id).text()),
        find(std::move(find_definition)),
        run(id) {}

  // The definition may be another one after this entry.
  void fold(const EntryView& entry) {
    const SharedText before = run.pinned_definition().fingerprint;
    run.fold(entry);
    const SharedText after = run.pinned_definition().fingerprint;
    if (after != before && find != nullptr) {
      bars.follow(find(after));
    }
  }

  RunId run_id;
  std::string text;
  std::string thread;
  FindDefinition find;
  RunProjection run;  // says what the status is
  TimelineBars bars;
  std::vector<TimelineEvent> events;
  std::size_t taken = 0;
};

TimelineBuilder::TimelineBuilder(const RunId& run, FindDefinition find)
    : state_(std::make_unique<State>(run, std::move(find))) {}
TimelineBuilder::TimelineBuilder(TimelineBuilder&& other) noexcept = default;
TimelineBuilder& TimelineBuilder::operator=(TimelineBuilder&& other) noexcept = default;
TimelineBuilder::~TimelineBuilder() = default;

namespace {

bool is_about(const RunFact& fact, const RunId& run) {
  return std::visit([&](const auto& known) { return known.run_id == run; }, fact);
}

}  // namespace

void TimelineBuilder::add(const EntryView& entry, Position position) {
  State& state = *state_;
  if (entry.thread == state.thread) {
    const auto fact = run_fact(entry.kind, entry.data);
    state.fold(entry);
    if (fact.ok() && is_about(fact.value(), state.run_id)) {
      state.bars.take(entry.at, fact.value());
      describe(state.events, state.bars, {entry.at, position}, fact.value());
    }
    return;
  }
  // Most of what a queue says is about other runs, and need not be read.
  if (!entry.thread.starts_with("dispatch:") ||
      entry.data.find(state.text) == std::string_view::npos) {
    return;
  }
  const auto fact = dispatch_fact(entry.kind, entry.data);
  if (fact.ok() && is_about(fact.value(), state.run_id)) {
    state.bars.take(entry.at, fact.value());
    describe(state.events, state.bars, {entry.at, position}, fact.value());
  }
}

std::vector<TimelineEvent> TimelineBuilder::take_events() {
  State& state = *state_;
  std::vector<TimelineEvent> events(state.events.begin() + static_cast<std::ptrdiff_t>(state.taken),
                                    state.events.end());
  state.taken = state.events.size();
  return events;
}

Timeline TimelineBuilder::timeline(TimeMs now) const {
  const RunProjection& run = state_->run;
  Timeline timeline;
  timeline.run_id = state_->text;
  timeline.status = to_text(run.status());
  if (run.started().has_value()) {
    timeline.workflow = run.started()->workflow.str();
    timeline.started_at = run.started_at();
  }
  if (run.is_terminal()) {
    timeline.ended_at = run.terminal_at();
  }
  timeline.now = now;
  timeline.events = state_->events;
  timeline.bars = bars(now);
  return timeline;
}

std::vector<TimelineBar> TimelineBuilder::bars(TimeMs now) const { return state_->bars.bars(now); }

namespace {

void write(JsonWriter& json, const TimelineEvent& event) {
  json.member("type", event.type).member("at", event.at);
  json.member("position", event.position.value);
  json.optional("step", event.step).optional("runnable_key", event.runnable_key);
  if (event.attempt > 0) {
    json.member("attempt", event.attempt);
  }
  json.member("summary", event.summary);
  if (!event.details.empty()) {
    json.member("details", JsonText::trusted(std::string(event.details.view())));
  }
}

void write(JsonWriter& json, const TimelineBar& bar) {
  json.member("step", bar.step).optional("runnable_key", bar.runnable_key);
  json.member("attempt", bar.attempt).member("scheduled_at", bar.scheduled_at);
  json.member("visible_at", bar.visible_at).optional("started_at", bar.started_at);
  json.optional("ended_at", bar.ended_at).member("status", bar.status);
  json.optional("owner", bar.owner);
}

}  // namespace

JsonText to_json(const TimelineEvent& event) {
  JsonWriter json;
  write(json.begin_object(), event);
  return std::move(json.end_object()).take_text();
}

JsonText to_json(const Timeline& timeline) {
  JsonWriter json;
  json.begin_object().member("run_id", timeline.run_id);
  json.optional("workflow", timeline.workflow);
  json.member("status", timeline.status).member("started_at", timeline.started_at);
  json.optional("ended_at", timeline.ended_at).member("now", timeline.now);
  json.objects("events", timeline.events, [&](const TimelineEvent& event) { write(json, event); });
  json.objects("bars", timeline.bars, [&](const TimelineBar& bar) { write(json, bar); });
  return std::move(json.end_object()).take_text();
}

}  // namespace holdfast

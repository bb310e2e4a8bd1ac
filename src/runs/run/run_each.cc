// A step that is carried out for each item of a list: one runnable for the whole, which the
// engine holds open, and one for each item.
#include <fmt/format.h>

#include <algorithm>

#include "runs/facts/activation.h"
#include "runs/run/run_draft.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

// The list, as JSON; empty when there is none.
std::string list_of(const Payload& items, const DataView& data) {
  if (items.view().starts_with('[')) {
    return std::string(items.view());
  }
  const auto path = DataPath::parse(json_string_value(items.view()).value_or(""));
  std::string storage;
  const auto value = path.ok() ? find_value(data, path.value(), storage) : std::nullopt;
  return value.has_value() && value->starts_with('[') ? std::string(*value) : std::string();
}

}  // namespace

void RunDraft::begin_each(const Step& step, Runnable runnable) {
  const std::string list = list_of(step.spec.for_each->items, ContextView(run_));
  if (list.empty()) {
    plan_failed(std::move(runnable),
                terminal_error("invalid_items",
                               fmt::format("{} gives no list", step.spec.for_each->items.view()),
                               step.name.view()));
    return;
  }
  const SharedText visit = runnable.step;
  runnable.handler = kEngineHandler;
  runnable.input = Payload::trusted(fmt::format(R"({{"items":{}}})", list));
  plan(std::move(runnable));
  flush();
  const EachProgress* each = run_.each(visit.view());
  if (each == nullptr) {
    return;  // facts of another writer forbid it; finish() reports that
  }
  if (each->items.empty()) {
    done(*run_.latest(visit.view()), {Payload::trusted("[]")});
  } else {
    plan_items(step, visit);
  }
}

// The same mapping begins every item, so a fault in it would be found once for each of them.
bool RunDraft::has_faulty_item(std::string_view visit) const {
  return std::any_of(run_.boundaries().begin(), run_.boundaries().end(), [&](const auto& at) {
    const std::string_view step = at.first.view();
    return is_item(step) && without_item(step) == visit && is_fault(run_, at.second);
  });
}

// As many as may be under way at once; none while the definition has a fault at one.
void RunDraft::plan_items(const Step& step, const SharedText& visit) {
  const ForEachSpec& spec = *step.spec.for_each;
  const EachProgress& each = *run_.each(visit.view());
  const std::uint64_t most = spec.concurrency == 0 ? each.items.size() : spec.concurrency;
  const PlannedRunnable& whole = *run_.latest(visit.view());
  const TimeMs visible_at = std::max(now_, whole.plan.visible_at);
  if (has_faulty_item(visit.view())) {
    return;
  }
  // An item that cannot begin is done here and now, is parked, or ends the whole.
  for (std::uint64_t item = each.next;
       item < each.items.size() && item - each.done < most && !whole.applied && !has_stopped();
       ++item) {
    const SharedText name = item_name(visit.view(), item);
    begin_item(step, item, runnable_of(step, name, whole.plan.path, visible_at));
    if (run_.parked(name) != nullptr) {
      break;
    }
  }
  flush();
}

void RunDraft::begin_item(const Step& step, std::uint64_t item, Runnable runnable) {
  const ForEachSpec& spec = *step.spec.for_each;
  const std::string_view as = spec.as.empty() ? "item" : spec.as.view();
  const std::string_view value = run_.each(without_item(runnable.step.view()))->items[item];
  const std::string place = fmt::format("{}", item);
  if (step.input.has_value()) {
    ContextView data(run_);
    data.put(as, value);
    data.put("index", place);
    begin_body(step, std::move(runnable), data);
    return;
  }
  std::string alone = "{";
  append_json_string(alone, as);
  alone += fmt::format(":{},\"index\":{}}}", value, place);
  begin_body(step, std::move(runnable), ObjectView(alone));
}

// Not at once: it may be plan_items that is done with an item.
void RunDraft::item_done(std::string_view visit) {
  tasks_.push_back({Task::Kind::next_items, 0, SharedText(visit), now_});
}

void RunDraft::next_items(const SharedText& visit) {
  const PlannedRunnable* whole = run_.latest(visit.view());
  const EachProgress* known = run_.each(visit.view());
  const auto index = definition().find(visit.view());
  if (whole == nullptr || whole->applied || known == nullptr || !index.has_value()) {
    return;
  }
  const EachProgress& each = *known;
  if (each.done < each.items.size()) {
    plan_items(definition().steps()[*index], visit);
    return;
  }
  std::string results = "[";
  for (std::uint64_t item = 0; item < each.items.size(); ++item) {
    const PlannedRunnable* part = run_.latest(item_name(visit.view(), item).view());
    results += item == 0 ? "" : ",";
    results += part == nullptr || part->result.empty() ? "null" : part->result.view();
  }
  done(*whole, {Payload::trusted(results + "]")});
}

void RunDraft::item_failed(const PlannedRunnable& planned, const Payload& error) {
  const std::string visit(without_item(planned.plan.step.view()));
  const auto index = definition().find(visit);
  const PlannedRunnable* whole = run_.latest(visit);
  if (!index.has_value() || !definition().steps()[*index].spec.for_each.has_value() ||
      whole == nullptr || run_.each(visit) == nullptr) {
    fail_run(error);  // another writer invented the item
    return;
  }
  const Step& step = definition().steps()[*index];
  close_failed(planned, error, taken_by(planned.plan, RouteOn::error, visit));
  if (step.spec.for_each->on_error == EachErrors::collect) {
    item_done(visit);
    return;
  }
  if (whole->applied) {
    return;  // another item failed before
  }
  RunnablesWithdrawn rest;
  rest.run_id = run_.run_id();
  rest.reason = "another item failed";
  for (std::uint64_t item = 0; item < run_.each(visit)->next; ++item) {
    const PlannedRunnable* other = run_.latest(item_name(visit, item).view());
    // A claimed item that can be compensated must end first.
    const bool kept = step.spec.compensate.has_value() && other != nullptr &&
                      around_.is_claimed(other->plan.runnable_key.view());
    if (other != nullptr && !other->applied && !kept) {
      rest.runnable_keys.push_back(other->plan.runnable_key);
    }
  }
  if (!rest.runnable_keys.empty()) {
    add(std::move(rest));
  }
  fail_step(*whole, item_error(error, *parse_activation(planned.plan.step.view()).item));
}

}  // namespace holdfast

#include "runs/run/run_projection.h"

#include <algorithm>
#include <map>

#include "base/sorted.h"
#include "base/text_bytes.h"
#include "runs/facts/retired_kinds.h"
#include "runs/run/context_text.h"
#include "runs/run/run_fold.h"
#include "runs/run/run_rules.h"

namespace holdfast {

namespace {

// What an anomaly says about the fact that caused it, as far as the fact has it.
template <typename Fact>
Anomaly describe(TimeMs at, const Fact& fact, const RunVerdict& verdict) {
  Anomaly anomaly;
  anomaly.reason = to_text(verdict.reason);
  anomaly.entry_type = Fact::kKind;
  anomaly.at = at;
  anomaly.run_id = fact.run_id;
  anomaly.detail = verdict.detail;
  if constexpr (requires { fact.step; }) {
    anomaly.step = fact.step;
  }
  if constexpr (requires { fact.runnable_key; }) {
    anomaly.runnable_key = fact.runnable_key;
  } else if constexpr (requires { fact.wait_id; }) {
    anomaly.runnable_key = fact.wait_id;
  }
  if constexpr (requires { fact.idempotency_key; }) {
    anomaly.idempotency_key = fact.idempotency_key;
  }
  if constexpr (requires { fact.child_run_id; }) {
    anomaly.child_run_id = to_string(fact.child_run_id);
  }
  if constexpr (requires { fact.mutation_id; }) {
    anomaly.mutation_id = fact.mutation_id;
  }
  return anomaly;
}

RunStatus status_of(TerminalStatus status) {
  switch (status) {
    case TerminalStatus::completed:
      return RunStatus::completed;
    case TerminalStatus::failed:
      return RunStatus::failed;
    case TerminalStatus::cancelled:
      return RunStatus::cancelled;
    case TerminalStatus::continued:
      return RunStatus::continued;
  }
  return RunStatus::completed;
}

}  // namespace

RunProjection::RunProjection(const RunId& run_id) : run_id_(run_id) {}

void RunProjection::attach(std::shared_ptr<const Definition> definition) {
  definition_ = std::move(definition);
  ++attachments_;
  if (definition_ == nullptr) {
    progress_.reset();
    return;
  }
  RunFold::rebuild_progress(*this);
}

void RunProjection::follow(std::shared_ptr<const Definition> definition) {
  if (undo_ != nullptr) {
    undo_->add([this, old = definition_] { attach(old); });
  }
  attach(std::move(definition));
}

void RunProjection::evolve(TimeMs at, const RunFact& fact) {
  save(undo_, revision_);
  revision_ = revision_.next();
  const RunVerdict verdict = judge(*this, at, fact);
  switch (verdict.kind) {
    case RunVerdict::Kind::accept:
      save(undo_, fact_bytes_);
      fact_bytes_ += text_bytes(fact);
      RunFold::apply(*this, at, fact);
      return;
    case RunVerdict::Kind::repeat:
      return;
    case RunVerdict::Kind::refuse:
      push_back(undo_, anomalies_,
                std::visit([&](const auto& known) { return describe(at, known, verdict); }, fact));
      return;
  }
}

void RunProjection::fold(const EntryView& entry) {
  const auto fact = run_fact(entry.kind, entry.data);
  if (fact.ok()) {
    evolve(entry.at, fact.value());
    return;
  }
  save(undo_, revision_);
  revision_ = revision_.next();
  if (is_retired_kind(entry.kind)) {
    // It counted as a change of the graph: later mutations name the version after it.
    if (entry.kind == kRetiredDynamicWork && !is_terminal()) {
      RunFold::raise_graph_version(*this);
    }
    return;
  }
  Anomaly anomaly;
  anomaly.reason = to_text(RunReason::malformed_entry);
  anomaly.entry_type = entry.kind.empty() ? "none" : entry.kind;
  anomaly.at = entry.at;
  anomaly.detail = fact.error().text();
  push_back(undo_, anomalies_, std::move(anomaly));
}

RunStatus RunProjection::status() const {
  if (terminal_.has_value()) {
    return status_of(terminal_->status);
  }
  if (!started_.has_value()) {
    return RunStatus::created;
  }
  if (compensation().has_value()) {
    return RunStatus::compensating;
  }
  // A step that waits may be applied already, so as to say that nothing has to be executed.
  if (!manual_.empty() && waits_only()) {
    const bool parked = std::any_of(manual_.begin(), manual_.end(), [](const auto& at) {
      return at.second.kind == BoundaryKind::parked;
    });
    return parked ? RunStatus::parked : RunStatus::paused;
  }
  if (runnables_.empty()) {
    return RunStatus::started;
  }
  return open_count_ == 0 ? RunStatus::idle : RunStatus::running;
}

bool RunProjection::waits_only() const {
  std::size_t waiting = 0;
  for (const auto& [step, state] : manual_) {
    const PlannedRunnable* planned = latest(step.view());
    waiting += planned != nullptr && !planned->applied ? 1 : 0;
  }
  return waiting == open_count_;
}

std::optional<ManualState> RunProjection::manual_state() const {
  const ManualState* first = nullptr;
  for (const auto& [step, state] : manual_) {
    first = first == nullptr || state.paused_at < first->paused_at ? &state : first;
  }
  return first == nullptr ? std::nullopt : std::optional(*first);
}

bool PlannedRunnable::is_undecided() const {
  return applied && !withdrawn && transition_of(transition).to.view() == kNoTransition;
}

const ManualState* RunProjection::parked(const SharedText& step) const {
  const auto found = manual_.find(step);
  return found == manual_.end() || found->second.kind != BoundaryKind::parked ? nullptr
                                                                              : &found->second;
}

std::uint32_t RunProjection::visits(std::string_view step) const {
  if (!visits_.empty()) {
    const auto known = visits_.find(SharedText(step));
    if (known != visits_.end()) {
      return known->second;
    }
  }
  return latest(step) == nullptr ? 0 : 1;
}

const EachProgress* RunProjection::each(std::string_view visit) const {
  const auto found = each_.find(SharedText(visit));
  return found == each_.end() ? nullptr : &found->second;
}

std::optional<std::string_view> RunProjection::context_member(std::string_view name) const {
  const auto found = context_.find(escaped(name));
  return found == context_.end() ? std::nullopt : std::optional(found->second.second.view());
}

const OptionalRunState& RunProjection::optional_state() const {
  static const OptionalRunState nothing;
  return optional_state_ ? *optional_state_ : nothing;
}

PinnedDefinition RunProjection::pinned_definition() const {
  if (optional_state().migrated_to.has_value()) {
    return *optional_state().migrated_to;
  }
  return started_.has_value()
             ? PinnedDefinition{started_->definition_version, started_->definition_fingerprint}
             : PinnedDefinition{};
}

const PlannedRunnable* RunProjection::find(std::string_view runnable_key) const {
  const auto found = runnables_.find(runnable_key);
  return found == runnables_.end() ? nullptr : &found->second;
}

const PlannedRunnable* RunProjection::latest(std::string_view step) const {
  const auto found = latest_.find(step);
  return found == latest_.end() ? nullptr : found->second;
}

std::vector<const PlannedRunnable*> RunProjection::runnables() const {
  std::vector<const PlannedRunnable*> all;
  all.reserve(runnables_.size());
  for (const auto* entry : sorted(runnables_)) {
    all.push_back(&entry->second);
  }
  std::sort(all.begin(), all.end(),
            [](const auto* left, const auto* right) { return left->order < right->order; });
  return all;
}

Payload RunProjection::context_with(const Payload& result) const {
  struct Item {
    std::string_view name;
    std::string_view value;
  };
  std::vector<Item> items(context_.size());
  for (const auto& [name, placed] : context_) {
    items[placed.first] = {name, placed.second.view()};
  }
  std::map<std::string, std::size_t> added;
  each_member(result, [&](const std::string& name, std::string_view value) {
    if (const auto known = context_.find(name); known != context_.end()) {
      items[known->second.first].value = value;
      return;
    }
    const auto [place, fresh] = added.emplace(name, items.size());
    if (fresh) {
      items.push_back({place->first, value});
    } else {
      items[place->second].value = value;
    }
  });
  std::string out = "{";
  for (const Item& item : items) {
    out += out.size() == 1 ? "\"" : ",\"";
    out += item.name;
    out += "\":";
    out += item.value;
  }
  return Payload::trusted(out + "}");
}

}  // namespace holdfast

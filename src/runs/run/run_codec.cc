// RunProjection as bytes and back.
#include <algorithm>

#include "runs/run/run_fold.h"

namespace holdfast {

namespace {

struct ContextItem {
  std::string name;  // as it is written inside the quotes
  Payload value;

  HOLDFAST_FIELDS(optional(name), required(value));
};

// Revision and anomalies stand last: what comes before them is what valid facts have made.
struct StoredRun {
  RunId run_id;
  std::optional<RunStarted> started;
  TimeMs started_at;
  std::optional<RunTerminal> terminal;
  TimeMs terminal_at;
  std::vector<ManualState> manual;
  std::vector<Receipt> receipts;
  std::vector<PlannedRunnable> runnables;
  std::vector<ContextItem> context;
  std::vector<ChildRunStarted> children;
  std::optional<OptionalRunState> optional_state;
  std::uint64_t revision = 0;
  std::vector<Anomaly> anomalies;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.optional("started", self.started);
    v.required("started_at", self.started_at);
    v.optional("terminal", self.terminal);
    v.required("terminal_at", self.terminal_at);
    v.optional("manual", self.manual);
    v.required("receipts", self.receipts);
    v.required("runnables", self.runnables);
    v.required("context", self.context);
    v.required("children", self.children);
    v.optional("rare", self.optional_state);
    v.required("revision", self.revision);
    v.required("anomalies", self.anomalies);
  }
};

Error inconsistent() {
  return Error{ErrorCode::invalid_argument, "the parts of the stored run do not fit together"};
}

}  // namespace

class RunCodec {
 public:
  static StoredRun store(const RunProjection& run) {
    StoredRun stored;
    stored.run_id = run.run_id_;
    stored.started = run.started_;
    stored.started_at = run.started_at_;
    stored.terminal = run.terminal_;
    stored.terminal_at = run.terminal_at_;
    for (const auto& [step, state] : run.manual_) {
      stored.manual.push_back(state);
    }
    stored.receipts = run.receipts_;
    for (const PlannedRunnable* planned : run.runnables()) {
      stored.runnables.push_back(*planned);
    }
    stored.context.resize(run.context_.size());
    for (const auto& [name, placed] : run.context_) {
      stored.context[placed.first] = {name, placed.second};
    }
    for (const auto& [id, child] : run.children_) {
      stored.children.push_back(child);
    }
    if (run.optional_state_) {
      stored.optional_state = *run.optional_state_;
    }
    stored.revision = run.revision_.value;
    stored.anomalies = run.anomalies_;
    return stored;
  }

  static Result<std::unique_ptr<RunProjection>> load(StoredRun stored) {
    auto run = std::make_unique<RunProjection>(stored.run_id);
    run->started_ = std::move(stored.started);
    run->started_at_ = stored.started_at;
    run->terminal_ = std::move(stored.terminal);
    run->terminal_at_ = stored.terminal_at;
    for (ManualState& state : stored.manual) {
      const SharedText step = state.step;
      run->manual_.emplace(step, std::move(state));
    }
    run->receipts_ = std::move(stored.receipts);
    for (PlannedRunnable& planned : stored.runnables) {
      if (!add_runnable(*run, std::move(planned))) {
        return inconsistent();
      }
    }
    for (ContextItem& item : stored.context) {
      const std::uint64_t place = run->context_.size();
      // What is between the quotes must stay there.
      if (!is_compact_json('"' + item.name + '"') ||
          !run->context_.try_emplace(std::move(item.name), place, std::move(item.value)).second) {
        return inconsistent();
      }
    }
    for (ChildRunStarted& child : stored.children) {
      const RunId id = child.child_run_id;
      if (!run->children_.emplace(id, std::move(child)).second) {
        return inconsistent();
      }
    }
    if (stored.optional_state.has_value()) {
      run->optional_state_ = *std::move(stored.optional_state);
    }
    run->revision_ = Revision{stored.revision};
    run->anomalies_ = std::move(stored.anomalies);
    return run;
  }

 private:
  // They come in the order they were planned.
  static bool add_runnable(RunProjection& run, PlannedRunnable planned) {
    if (planned.order != run.next_order_++) {
      return false;
    }
    const SharedText key = planned.plan.runnable_key;
    const auto [at, fresh] = run.runnables_.emplace(key, std::move(planned));
    const PlannedRunnable& added = at->second;
    run.applied_count_ = std::max(run.applied_count_, added.applied_order);
    if (!fresh || added.plan.is_timer()) {
      return fresh;
    }
    RunFold::restore_counts(run, added);
    const PlannedRunnable*& latest = run.latest_[added.plan.step];
    run.open_count_ -= latest != nullptr && !latest->applied ? 1U : 0U;
    run.open_count_ += added.applied ? 0U : 1U;
    latest = &added;
    return true;
  }
};

std::string RunProjection::encode() const {
  const auto text = to_json(RunCodec::store(*this));
  return std::string(text.value().view());
}

Result<std::unique_ptr<RunProjection>> RunProjection::decode(std::string_view bytes) {
  HOLDFAST_TRY(StoredRun stored, from_json<StoredRun>(bytes));
  return RunCodec::load(std::move(stored));
}

}  // namespace holdfast

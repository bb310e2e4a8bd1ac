// The answers of DispatchProjection that look at every attempt, and its form as bytes.
#include <algorithm>

#include "base/sorted.h"
#include "runs/dispatch/dispatch_projection.h"

namespace holdfast {

namespace {

struct RunRecord {
  RunId run_id;
  bool queued = false;
  bool terminal = false;

  HOLDFAST_FIELDS(required(run_id), optional(queued), optional(terminal));
};

struct CircuitRecord {
  StepType type;
  Circuit circuit;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("workflow", self.type.workflow);
    v.required("step", self.type.step);
    Circuit::visit(self.circuit, v);
  }
};

struct Stored {
  SharedText queue;
  std::uint64_t next_order = 0;
  std::vector<RunRecord> runs;
  std::vector<Attempt> attempts;
  std::vector<CircuitRecord> circuits;
  std::vector<Anomaly> anomalies;

  HOLDFAST_FIELDS(required(queue), required(next_order), required(runs), required(attempts),
                  optional(circuits), required(anomalies));
};

bool claimed_before(const std::pair<const SharedText, Attempt>& left,
                    const std::pair<const SharedText, Attempt>& right) {
  return std::pair(left.second.visible_at, left.second.order) <
         std::pair(right.second.visible_at, right.second.order);
}

// One member of the stored form: a list of what `value` makes of each item.
template <typename Item, typename Value>
void append_list(std::string& out, std::string_view name, const std::vector<const Item*>& items,
                 Value value) {
  out += ",\"";
  out += name;
  out += "\":[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += i == 0 ? "" : ",";
    const Result<void> written = append_json(out, value(*items[i]));
    HOLDFAST_ASSERT(written.ok());
  }
  out += ']';
}

void count_waiting(const AttemptHeap& heap, TimeMs now, DispatchProjection::Waiting& waiting) {
  heap.visit_until(
      now,
      [&](const Attempt& attempt) {
        ++waiting.visible;
        waiting.expired += attempt.status == AttemptStatus::claimed ? 1U : 0U;
      },
      [&](TimeMs at) { waiting.next_at = std::min(waiting.next_at.value_or(at), at); });
  waiting.later = heap.size() - waiting.visible;
  waiting.first = waiting.visible > 0 ? heap.top() : nullptr;
}

}  // namespace

std::vector<const Attempt*> DispatchProjection::attempts() const {
  std::vector<const Attempt*> all;
  all.reserve(attempts_.size());
  for (const auto* entry : sorted(attempts_, claimed_before)) {
    all.push_back(&entry->second);
  }
  return all;
}

std::vector<const Attempt*> DispatchProjection::attempts_of(const RunId& id) const {
  std::vector<const Attempt*> found;
  const QueuedRun* known = find_run(id);
  for (const Attempt* attempt = known == nullptr ? nullptr : known->first; attempt != nullptr;
       attempt = attempt->next_of_run) {
    found.push_back(attempt);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<const Attempt*> DispatchProjection::held() const {
  std::vector<const Attempt*> all;
  leases_.visit_all([&](const Attempt& attempt) { all.push_back(&attempt); });
  return all;
}

std::map<SharedText, DispatchProjection::Waiting> DispatchProjection::waiting(TimeMs now) const {
  std::map<SharedText, Waiting> all;
  for (const auto& [handler, bucket] : buckets_) {
    if (!bucket.ready.empty()) {
      count_waiting(bucket.ready, now, all[handler]);
    }
    for (const auto& [type, heap] : bucket.guarded) {
      if (heap.empty()) {
        continue;
      }
      Waiting guarded;
      count_waiting(heap, now, guarded);
      const Circuit* circuit = find_circuit(type);
      if (circuit != nullptr && circuit->is_open() && guarded.visible > 0) {
        const auto from = passes_at(type, *heap.top());
        const bool probe_due = from.has_value() && *from <= now;
        guarded.held_back = guarded.visible - (probe_due ? 1U : 0U);
        guarded.visible = probe_due ? 1 : 0;
        guarded.expired = 0;
        guarded.first = probe_due ? heap.top() : nullptr;
        if (from.has_value() && !probe_due) {
          guarded.next_at = std::min(guarded.next_at.value_or(*from), *from);
        }
      }
      all[handler].add(guarded);
    }
  }
  return all;
}

void DispatchProjection::Waiting::add(const Waiting& other) {
  visible += other.visible;
  expired += other.expired;
  later += other.later;
  held_back += other.held_back;
  if (other.first != nullptr &&
      (first == nullptr || std::pair(other.first->visible_at, other.first->order) <
                               std::pair(first->visible_at, first->order))) {
    first = other.first;
  }
  if (other.next_at.has_value()) {
    next_at = std::min(next_at.value_or(*other.next_at), *other.next_at);
  }
}

// Written straight from where it is: a queue can have very many attempts.
std::string DispatchProjection::encode() const {
  std::string out = R"({"queue":)";
  out.reserve(attempts_.size() * kUsualBytes);
  write_value(out, queue_);
  out += R"(,"next_order":)";
  write_value(out, next_order_);
  append_list(out, "runs", sorted(runs_), [](const auto& entry) {
    return RunRecord{entry.first, entry.second.queued, entry.second.terminal};
  });
  const auto scheduled_before = [](const auto& left, const auto& right) {
    return left.second.order < right.second.order;
  };
  append_list(out, "attempts", sorted(attempts_, scheduled_before),
              [](const auto& entry) -> const Attempt& { return entry.second; });
  if (!circuits_.empty()) {
    std::vector<const std::pair<const StepType, Circuit>*> circuits;
    for (const auto& entry : circuits_) {
      circuits.push_back(&entry);
    }
    append_list(out, "circuits", circuits, [](const auto& entry) {
      return CircuitRecord{entry.first, entry.second};
    });
  }
  std::vector<const Anomaly*> anomalies;
  for (const Anomaly& anomaly : anomalies_) {
    anomalies.push_back(&anomaly);
  }
  append_list(out, "anomalies", anomalies,
              [](const Anomaly& anomaly) -> const Anomaly& { return anomaly; });
  out += '}';
  return out;
}

Result<std::unique_ptr<DispatchProjection>> DispatchProjection::decode(std::string_view bytes) {
  HOLDFAST_TRY(Stored stored, from_json<Stored>(bytes));
  auto projection = std::make_unique<DispatchProjection>(stored.queue);
  for (const RunRecord& record : stored.runs) {
    QueuedRun& known = projection->run(record.run_id);
    known.queued = record.queued;
    known.terminal = record.terminal;
  }
  for (Attempt& attempt : stored.attempts) {
    const bool claimed = attempt.status == AttemptStatus::claimed;
    const bool has_input = attempt.input.empty() == (attempt.stored_input() != nullptr);
    const bool in_order =
        attempt.order >= projection->next_order_ && attempt.order < stored.next_order;
    if (projection->find(attempt.runnable_key.view()) != nullptr || !in_order || !has_input ||
        (claimed && !attempt.claim) || attempt.ended() != static_cast<bool>(attempt.outcome)) {
      return Error{ErrorCode::invalid_argument, "the stored attempts do not fit together"};
    }
    projection->next_order_ = attempt.order;
    projection->add_attempt(std::move(attempt));
  }
  projection->next_order_ = stored.next_order;
  for (CircuitRecord& record : stored.circuits) {
    projection->circuits_.insert_or_assign(std::move(record.type), std::move(record.circuit));
  }
  projection->anomalies_ = std::move(stored.anomalies);
  return projection;
}

}  // namespace holdfast

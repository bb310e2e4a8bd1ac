// Audit: the fold of a whole journal in commit order by the rules of the protocol, without the
// engine: what an independent reader finds. It forgets nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runs/dispatch/dispatch_effects.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/run/run_effects.h"
#include "runs/run/run_projection.h"
#include "storage/entry/entry.h"

namespace holdfast {

struct Audit {
  std::map<RunId, std::unique_ptr<RunProjection>> runs;
  std::map<SharedText, std::unique_ptr<DispatchProjection>> queues;
  std::map<std::string, AttemptClaimed> claims;  // by claim id
  std::map<std::string, std::uint64_t> kinds;    // number of entries of each kind
  std::uint64_t batches = 0;

  // Every violated rule, as text.
  [[nodiscard]] std::vector<std::string> anomalies() const {
    std::vector<std::string> found;
    const auto add = [&](const std::string& where, const std::vector<Anomaly>& anomalies) {
      for (const Anomaly& anomaly : anomalies) {
        found.push_back(where + ": " + anomaly.entry_type.str() + " " + anomaly.reason.str() + " " +
                        anomaly.runnable_key.str() + " " + anomaly.detail.str());
      }
    };
    for (const auto& [id, run] : runs) {
      add("run " + to_string(id), run->anomalies());
    }
    for (const auto& [name, queue] : queues) {
      add("queue " + name.str(), queue->anomalies());
    }
    return found;
  }
};

class Auditor {
 public:
  explicit Auditor(Audit& audit) : audit_(audit) {}

  void fold(const EntryView& entry) {
    ++audit_.kinds[std::string(entry.kind)];
    constexpr std::string_view kRun = "run:";
    constexpr std::string_view kDispatch = "dispatch:";
    if (entry.thread.starts_with(kDispatch)) {
      queue(SharedText(entry.thread.substr(kDispatch.size()))).fold(entry);
      const auto fact = dispatch_fact(entry.kind, entry.data);
      if (fact.ok()) {
        NoteClaims note(audit_);
        visit_effects(fact.value(), note);
      }
    } else if (entry.thread.starts_with(kRun)) {
      const auto id = parse_run_id(entry.thread.substr(kRun.size()));
      if (id.ok()) {
        fold_run(id.value(), entry);
      }
    }
  }

 private:
  DispatchProjection& queue(const SharedText& name) {
    auto& known = audit_.queues[name];
    if (known == nullptr) {
      known = std::make_unique<DispatchProjection>(name);
    }
    return *known;
  }
  void fold_run(const RunId& id, const EntryView& entry) {
    auto& run = audit_.runs[id];
    if (run == nullptr) {
      run = std::make_unique<RunProjection>(id);
    }
    const std::size_t anomalies = run->anomalies().size();
    run->fold(entry);
    const auto fact = run_fact(entry.kind, entry.data);
    if (!fact.ok() || run->anomalies().size() != anomalies) {
      return;
    }
    CloseAttempts close(audit_, entry.at);
    visit_effects(fact.value(), close);
  }

  // The effects of facts of runs on attempts.
  class CloseAttempts : public RunEffects {
   public:
    CloseAttempts(Audit& audit, TimeMs at) : audit_(audit), at_(at) {}

    void attempt_closed(const ResultApplied& closed) {
      for (const auto& [name, queue] : audit_.queues) {
        close_attempt(*queue, at_, closed);
      }
    }
    void ended(const RunTerminal& fact) {
      for (const auto& [name, queue] : audit_.queues) {
        if (queue->find_run(fact.run_id) != nullptr) {
          queue->end_run(fact.run_id);
        }
      }
    }

   private:
    Audit& audit_;
    TimeMs at_;
  };
  // The claims, by id.
  class NoteClaims : public DispatchEffects {
   public:
    explicit NoteClaims(Audit& audit) : audit_(audit) {}
    void claimed(const AttemptClaimed& fact) { audit_.claims[fact.claim_id.str()] = fact; }

   private:
    Audit& audit_;
  };

  Audit& audit_;
};

}  // namespace holdfast

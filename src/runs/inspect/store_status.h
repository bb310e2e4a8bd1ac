// StoreStatus: what a whole store is doing at one moment, in numbers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runs/engine/live_state.h"
#include "runs/inspect/moment.h"

namespace holdfast {

// What a worker has, or had for too long.
struct ClaimStatus {
  std::string run_id;
  std::string step;
  std::string runnable_key;
  std::string owner;
  TimeMs claimed_at = {};
  TimeMs lease_until = {};
};

// An open circuit breaker.
struct CircuitStatus {
  std::string workflow;
  std::string step;
  std::uint64_t failures = 0;  // consecutive
  TimeMs opened_at = {};
  TimeMs probe_at = {};  // when one attempt may be claimed
  bool probing = false;  // a worker has it
};

struct QueueStatus {
  std::string name;
  std::uint64_t visible = 0;    // a worker may take them
  std::uint64_t scheduled = 0;  // for later
  std::uint64_t claimed = 0;    // a worker has them
  std::uint64_t expired = 0;    // a worker had them for too long
  std::uint64_t sleeping = 0;   // timers
  std::optional<TimeMs> oldest_visible_at = std::nullopt;
  std::optional<TimeMs> next_visible_at = std::nullopt;
  std::optional<TimeMs> oldest_claim_at = std::nullopt;
  std::map<std::string, std::uint64_t> waiting_by_handler = {};  // of those that are visible
  std::map<std::string, std::uint64_t> claimed_by_owner = {};
  std::vector<ClaimStatus> claims = {};  // oldest first
  std::vector<CircuitStatus> open_circuits = {};
  std::uint64_t anomalies = 0;
};

struct StoreStatus {
  std::map<std::string, std::uint64_t> live = {};  // runs by status
  EndedCounts ended = {};
  std::uint64_t manual_interventions = 0;  // steps that wait for a person
  std::vector<QueueStatus> queues = {};    // in which there is something
  std::uint64_t pending_dispatches = 0;    // planned, in no queue
  std::uint64_t pending_results = 0;       // reported, not in the run
  std::uint64_t anomalies = 0;             // of live runs and of queues
  std::vector<std::string> workflows = {};
  Moment moment = {};
};

// Loads every run that has not ended.
Result<StoreStatus> store_status(LiveState& state, const Moment& moment);
JsonText to_json(const StoreStatus& status);

}  // namespace holdfast

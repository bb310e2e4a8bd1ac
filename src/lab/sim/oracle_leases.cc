// The queue that a lease backend carries.
//
// Guarantees: a worker of the backend may begin only after its claim is durable; a report
// with the current claim is acknowledged only after its facts are durable. All rules about claims
// and reports of other workers hold as well. The lease may end early if the worker gives the
// attempt back, and after its lease a worker can claim again under the same claim id, if no other
// worker has.
#include "lab/sim/oracle_model.h"

namespace holdfast::sim {

namespace model {

void OracleModel::lease_granted(const std::string& claim_id) {
  location = "the backend";
  check(claim_ids.contains(claim_id), "granted",
        "claim " + claim_id + " was granted before it was durable");
}

void OracleModel::lease_report_acknowledged(const std::string& key, const std::string& claim_id,
                                            const std::string& token_hash) {
  location = "the backend";
  const auto attempt = attempts.find(key);
  if (attempt == attempts.end() || attempt->second.claims.empty()) {
    return;
  }
  const Attempt& known = attempt->second;
  const auto run = runs.find(known.run);
  const bool open = known.outcome == Attempt::Outcome::none && !known.withdrawn &&
                    run != runs.end() && !run->second.has_ended();
  const Claim& last = known.claims.back();
  check(!open || last.id != claim_id || last.token_hash != token_hash, "acknowledged",
        "a report of " + key + " with the current claim was acknowledged and not stored");
}

}  // namespace model

void Oracle::carry(const std::string& queue) { model_->carried.insert(queue); }
void Oracle::given_back(const std::string& claim_id, std::int64_t delay_ms) {
  model_->given_back[claim_id] = delay_ms;
}
void Oracle::lease_granted(const std::string& claim_id) { model_->lease_granted(claim_id); }
void Oracle::lease_report_acknowledged(const std::string& key, const std::string& claim_id,
                                       const std::string& token_hash) {
  model_->lease_report_acknowledged(key, claim_id, token_hash);
}

}  // namespace holdfast::sim

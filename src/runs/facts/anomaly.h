// Anomaly: a fact that violated a rule of the protocol. It changed nothing but the list of
// anomalies.
#pragma once

#include <string>

#include "base/fields.h"
#include "runs/facts/ids.h"

namespace holdfast {

struct Anomaly {
  SharedText reason;      // the name of the rule, one of the words in docs/protocol.md
  SharedText entry_type;  // the kind of the fact
  TimeMs at;              // the time in its entry
  RunId run_id;
  SharedText step;
  SharedText runnable_key;
  SharedText idempotency_key;
  SharedText claim_id;
  SharedText claim_token_hash;
  SharedText child_run_id;
  SharedText mutation_id;
  SharedText detail;  // for operators: what exactly was wrong

  HOLDFAST_FIELDS(required(reason), required(entry_type), required(at), optional(run_id),
                  optional(step), optional(runnable_key), optional(idempotency_key),
                  optional(claim_id), optional(claim_token_hash), optional(child_run_id),
                  optional(mutation_id), optional(detail));
  friend bool operator==(const Anomaly&, const Anomaly&) = default;
};

}  // namespace holdfast

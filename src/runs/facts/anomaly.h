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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("reason", self.reason);
    v.required("entry_type", self.entry_type);
    v.required("at", self.at);
    v.optional("run_id", self.run_id);
    v.optional("step", self.step);
    v.optional("runnable_key", self.runnable_key);
    v.optional("idempotency_key", self.idempotency_key);
    v.optional("claim_id", self.claim_id);
    v.optional("claim_token_hash", self.claim_token_hash);
    v.optional("child_run_id", self.child_run_id);
    v.optional("mutation_id", self.mutation_id);
    v.optional("detail", self.detail);
  }
  friend bool operator==(const Anomaly&, const Anomaly&) = default;
};

}  // namespace holdfast

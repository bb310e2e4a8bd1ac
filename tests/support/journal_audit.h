// The audit of an open journal.
#pragma once

#include "lab/sim/sim_audit.h"
#include "storage/journal/journal_history.h"
#include "tests/support/test_log.h"

namespace holdfast {

inline Audit audit(Log& log) {
  Audit result;
  Auditor auditor(result);
  must(log.refresh());
  History history(log);
  for (;;) {
    const auto batches = must(history.next());
    if (batches.empty()) {
      return result;
    }
    for (const Batch& batch : batches) {
      ++result.batches;
      BodyScanner scanner(batch.position, batch.body);
      while (const auto entry = must(scanner.next())) {
        auditor.fold(*entry);
      }
    }
  }
}

}  // namespace holdfast

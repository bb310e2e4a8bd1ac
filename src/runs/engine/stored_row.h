// StoredRow: what a list needs of a run with large payloads, kept as a checkpoint, so that a page
// does not read the payloads. Only a cache: a list that misses one reads the run itself.
//
//   run:<id>       a StoredRow of the run at one revision
//   <list>:<seq>   a StoredListing: the entry of the catalog, or of the index of a workflow, with
//                  this number (16 hex digits). It never changes, and is of use until the entry is
//                  sealed, because it stands in the same batch as the input of the run.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"
#include "runs/run/run_fact.h"
#include "runs/view/run_row.h"
#include "storage/entry/thread_id.h"

namespace holdfast {

inline constexpr std::uint8_t kStoredRowVersion = 1;

struct StoredRow {
  RunRow row = {};             // as far as fill_in knows it
  std::uint64_t position = 0;  // the row shows the run as of this batch of the log

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("position", self.position);
    v.required("revision", self.row.revision);
    v.required("status", self.row.status);
    v.optional("terminal", self.row.terminal);
    v.optional("archived", self.row.archived);
    v.optional("version", self.row.version);
    v.optional("started_at", self.row.started_at);
    v.optional("ended_at", self.row.ended_at);
    v.optional("waits_at", self.row.waits_at);
    v.optional("error", self.row.error);
    v.optional("parent_run_id", self.row.parent);
    v.optional("replayed_from", self.row.replayed_from);
    v.optional("search_attributes", self.row.attributes);
    v.optional("anomalies", self.row.anomalies);
  }
};

struct StoredListing {
  RunIndexed run;
  TimeMs at;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    RunIndexed::visit(self.run, v);
    v.required("at", self.at);
  }
};

inline ThreadId listing_name(const ThreadId& list, std::uint64_t seq) {
  return ThreadId::trusted(list.text() + ":" + sortable_hex(seq));
}

}  // namespace holdfast

// Lists of runs, page by page, from the journal alone. The order is that of the catalog, to which
// runs are only ever added: a run is on one page, whatever starts and ends in between.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runs/inspect/moment.h"
#include "runs/view/run_row.h"

namespace holdfast {

inline constexpr std::size_t kMaxListed = 1000;
// So many runs are looked at for one page; a filter that few fit gives short pages.
inline constexpr std::size_t kMaxLookedAt = 10'000;

struct RunListQuery {
  RunFilter filter = {};
  bool newest_first = true;
  std::size_t limit = 50;   // 1 to kMaxListed
  std::string cursor = {};  // RunRows::next of the page before, of the same query
};

struct RunRows {
  std::vector<RunRow> rows;
  std::string next = {};  // empty: this was the last page
};

// invalid_argument when limit, workflow or cursor are not valid.
Result<RunRows> list_runs(Journal& journal, const RunListQuery& query, const Moment& moment);
// {"runs":[…],"next":…,"as_of":{…}}
JsonText to_json(const RunRows& page, const Moment& moment);

// A run by a part of its id: the whole, a beginning or an end of at least four characters, or
// "latest", the newest that is not a child. run_not_found; invalid_argument when several runs
// match.
Result<RunId> find_run(Journal& journal, std::string_view part, const Moment& moment);

}  // namespace holdfast

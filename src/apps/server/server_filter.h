// Which runs are meant, as requests say it.
#pragma once

#include <string>
#include <vector>

#include "apps/server/caller.h"
#include "apps/server/strict_body.h"
#include "base/fields.h"
#include "runs/inspect/run_list.h"

namespace holdfast {

struct FilterBody {
  GivenText workflow;
  GivenNames statuses;
  GivenText since;
  GivenText until;
  GivenObject attributes;

  // It restricts nothing.
  [[nodiscard]] bool empty() const;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("workflow", self.workflow);
    v.optional("statuses", self.statuses);
    v.optional("since", self.since);
    v.optional("until", self.until);
    v.optional("attributes", self.attributes);
  }
};

// invalid_argument; permission_denied when the caller is limited to other workflows, or to several
// and names none.
Result<RunFilter> filter_of(const FilterBody& body, const Caller& caller, TimeMs now);

}  // namespace holdfast

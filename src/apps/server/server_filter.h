// The runs that a request selects.
#pragma once

#include "apps/server/authenticator.h"
#include "runs/api/run_requests.h"
#include "runs/inspect/run_list.h"

namespace holdfast {

// invalid_argument; permission_denied when the caller is limited to other workflows, or to several
// workflows and the request names none.
Result<RunFilter> filter_of(const RunFilterRequest& request, const Caller& caller, TimeMs now);

}  // namespace holdfast

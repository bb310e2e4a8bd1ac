// A lease backend on the queues of a message broker: see include/holdfast/lease_backend.h.
//
// Each attempt is a message to QUEUE, under an id that is made of the id of the item and a
// generation: an item that is taken back is withdrawn, and sent again as the next generation. Items
// that are not visible yet are kept by the handles of this process and sent when they are due, by
// the clock of the engine; what a process loses, its engine enqueues again.
//
// The queues must exist, and their member must be allowed to claim from all three:
// `holdfast broker queue create WORKSPACE QUEUE --for-runs` creates them.
#pragma once

#include <string_view>

#include "apps/bridges/broker_lease_url.h"
#include "holdfast/lease_backend.h"
#include "holdfast/result.h"

namespace holdfast::bridges {

OpenLeaseBackend broker_lease_backend(const BrokerLeaseUrl& url);

// Of broker://…, and of what holdfast::open_lease_backend() knows. invalid_url.
Result<OpenLeaseBackend> open_any_lease_backend(std::string_view url);

}  // namespace holdfast::bridges

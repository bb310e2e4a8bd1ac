// Consumers of queues, in the protocol of the broker and of its peers: a request claims one
// message, the next one acknowledges it. A claim that finds nothing is a failure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lab/bench/wire_load.h"

namespace holdfast {

// POST /v1/queues/QUEUE/claim and ack.
std::unique_ptr<WireProtocol> broker_consumers(std::string_view token, std::string_view queue,
                                               std::size_t clients);
// XREADGROUP and XACK on the stream "work" with the group "workers".
std::unique_ptr<WireProtocol> redis_consumers(std::size_t clients);
// A table with the columns id, state, lease_until and body: UPDATE of a row that is found with FOR
// UPDATE SKIP LOCKED, then DELETE; each a transaction of its own.
std::unique_ptr<WireProtocol> postgres_consumers(const std::string& user,
                                                 const std::string& database,
                                                 const std::string& table, std::size_t clients);

}  // namespace holdfast

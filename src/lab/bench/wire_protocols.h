// What the broker and its peers are sent: a message of the same size, in the protocol of each.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lab/bench/wire_load.h"

namespace holdfast {

// POST /v1/messages with a token. before, after: what the body has around the number of the
// message.
std::unique_ptr<WireProtocol> http_messages(std::string_view token, std::string_view before,
                                            std::string_view after);
// POST /v1/send of a daemon, likewise.
std::unique_ptr<WireProtocol> http_sends(std::string_view before, std::string_view after);
// XADD to a stream.
std::unique_ptr<WireProtocol> redis_stream(std::string payload);
// INSERT of one row into a table, a transaction of its own. The table has the columns id and body.
std::unique_ptr<WireProtocol> postgres_rows(std::string user, std::string database,
                                            std::string table, std::string payload);
// PUB to a subject of a stream, acknowledged to an inbox.
std::unique_ptr<WireProtocol> nats_stream(std::string subject, std::string payload);

}  // namespace holdfast

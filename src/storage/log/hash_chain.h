// The hash chain of a log.
//   chain(0) = SHA-256("holdfast-log-1" || log id)
//   chain(p) = SHA-256("holdfast-chain-1" || chain(p-1) || p || SHA-256(body))
// where p is written as 8 bytes, big-endian.
// chain(p) proves whether a copy of the first p batches is exact.
#pragma once

#include "base/hash.h"
#include "base/uuid.h"
#include "storage/entry/position.h"

namespace holdfast {

Digest genesis_chain(const Uuid& log_id);
Digest next_chain(const Digest& previous, Position position, const Digest& body_hash);

}  // namespace holdfast

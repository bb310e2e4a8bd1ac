// Frontier: for each author the largest timestamp known. On the wire a map in ascending order of
// node ids, as base64url in URLs; the empty frontier is "AA".
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "mesh/clock/hybrid_time.h"

namespace holdfast::mesh {

using Frontier = std::map<NodeId, Timestamp>;

void advance(Frontier& frontier, const Timestamp& at);

std::vector<std::byte> encode_frontier(const Frontier& frontier);
// invalid_argument when the bytes are not what encode_frontier makes.
Result<Frontier> decode_frontier(std::span<const std::byte> bytes);

}  // namespace holdfast::mesh

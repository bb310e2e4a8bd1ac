// The ids of a mesh: 16 raw bytes each, of distinct types, so that a job id is never taken for an
// operation id.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/encoding.h"
#include "base/hash.h"

namespace holdfast::mesh {

using IdBytes = std::array<std::byte, 16>;

template <typename Tag>
struct Id {
  IdBytes bytes{};
  friend auto operator<=>(const Id&, const Id&) = default;
};

using OpId = Id<struct OpIdTag>;
using JobId = Id<struct JobIdTag>;
using EvidenceId = Id<struct EvidenceIdTag>;
using EntityId = Id<struct EntityIdTag>;
using ClaimId = Id<struct ClaimIdTag>;
using ArtifactId = Id<struct ArtifactIdTag>;
using EpisodeId = Id<struct EpisodeIdTag>;
using ActionId = Id<struct ActionIdTag>;

template <typename Tag>
std::string to_text(const Id<Tag>& id) {
  return to_hex(std::span<const std::byte>(id.bytes));
}

// 48 bits of wall time, then 80 random bits, which the caller draws.
OpId make_op_id(std::uint64_t wall_ms, std::span<const std::byte, 10> random_bytes);

}  // namespace holdfast::mesh

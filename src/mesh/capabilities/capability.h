// What a delegation can grant: pairs of a resource and an action, restricted by caveats.
//
// Wildcards are expanded to the defined pairs before anything is compared. A caveat restricts
// only the pairs it concerns and has no effect on others. is_narrower is the rule of attenuation:
// every operation that the child admits, the parent admits too.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "mesh/ops/operation.h"
#include "mesh/ops/reason.h"

namespace holdfast::mesh {

enum class Resource : std::uint8_t {
  evidence,
  entity,
  claim,
  job,
  episode,
  artifact,
  action,
  mesh,
  user_assertion,
  registration,
};
enum class Action : std::uint8_t { read, write, schedule, claim, complete };

inline constexpr std::size_t kResources = 10;
inline constexpr std::size_t kActions = 5;

struct Pair {
  Resource resource{};
  Action action{};
  bool operator==(const Pair&) const = default;
};

// Read and Write on every resource except (Job, Write); Schedule, Claim and Complete on Job only.
bool is_defined(Pair pair);

class PairSet {
 public:
  [[nodiscard]] bool has(Pair pair) const { return bits_[index(pair)]; }
  void add(Pair pair) { bits_.set(index(pair)); }
  [[nodiscard]] bool empty() const { return bits_.none(); }
  [[nodiscard]] std::vector<Pair> pairs() const;
  bool operator==(const PairSet&) const = default;

 private:
  static std::size_t index(Pair pair) {
    return static_cast<std::size_t>(pair.resource) * kActions +
           static_cast<std::size_t>(pair.action);
  }
  std::bitset<kResources * kActions> bits_;
};

// The defined pairs that two names of a token grant; either may be "*", and the resource "Ops".
// Empty when the resource is unknown; an empty set when no pair of these names is defined.
std::optional<PairSet> expand(std::string_view resource, std::string_view action);

enum class Caveat : std::uint8_t {
  source_types,
  predicates,
  kind_prefix,
  time_range,
  sanitize,
  audit_inference,
};
inline constexpr std::size_t kCaveats = 6;

struct TimeRange {
  std::uint64_t start_ms = 0;
  std::uint64_t end_ms = 0;  // exclusive
  bool operator==(const TimeRange&) const = default;
};

struct Caveats {
  std::optional<std::vector<std::string>> source_types;
  std::optional<std::vector<std::string>> predicates;
  std::optional<std::vector<std::string>> kind_prefix;
  std::optional<TimeRange> time_range;
  std::optional<std::vector<SanitiseRule>> sanitize;
  bool audit_inference = false;
  bool operator==(const Caveats&) const = default;
};

bool concerns(Caveat caveat, Pair pair);

// What the caveats of a capability look at. An absent text is not checked: the job kind, the
// predicate or the source type may only become known with another operation.
struct CaveatFacts {
  std::uint64_t wall_ms = 0;
  std::optional<std::string_view> kind = std::nullopt;
  std::optional<std::string_view> predicate = std::nullopt;
  std::optional<std::string_view> source_type = std::nullopt;
};

// The first caveat, in the order of the enumeration, that the facts do not satisfy.
std::optional<Caveat> first_failure(const Caveats& caveats, Pair pair, const CaveatFacts& facts);

// A caveat that the parent has and the child omits is a broadening.
bool is_narrower(const Caveats& child, const Caveats& parent, Pair pair);

struct Capability {
  PairSet pairs;
  Caveats caveats;
};

}  // namespace holdfast::mesh

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<mesh::Resource>[] = {
    "Evidence", "Entity", "Claim", "Job",           "Episode",
    "Artifact", "Action", "Mesh",  "UserAssertion", "Registration"};
template <>
inline constexpr std::string_view kEnumNames<mesh::Action>[] = {"Read", "Write", "Schedule",
                                                                "Claim", "Complete"};
template <>
inline constexpr std::string_view kEnumNames<mesh::Caveat>[] = {
    "source_types", "predicates", "kind_prefix", "time_range", "sanitize", "audit_inference"};
template <>
inline constexpr std::string_view kEnumNames<mesh::SanitiseRule::Kind>[] = {
    "StripGeo", "RedactParticipants", "TruncateContent", "StripCustomMetadata"};

}  // namespace holdfast

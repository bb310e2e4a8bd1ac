// The part of the oracle that decides who may do what, from scratch for every question: it walks
// chains of tokens recursively and stores nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mesh/roster/op_record.h"
#include "mesh/roster/roster_rules.h"

namespace holdfast::mesh::oracle {

using Op = VerifiedOperation;

struct World {
  PublicKey user;
  RosterRules rules;
  std::vector<Op> ops;  // sorted by time
  std::map<Digest, Token> tokens;
  std::set<Digest> revoked;
};

enum class Chain { good, missing, bad };

// Also the number of tokens of the chain.
std::pair<Chain, int> chain_of(const World& world, const Token& token);
bool may_revoke(const World& world, const PublicKey& author, const Digest& target);

struct Facts {
  std::uint64_t wall_ms;
  std::optional<std::string> kind, predicate, source_type;
};

// Empty when admitted, else the most advanced failure.
std::string why_not(const World& world, const PublicKey& author, Pair pair, const Facts& facts);
// The same for a node that needs any token in force, whatever it grants.
std::string why_not_enrolled(const World& world, const PublicKey& author, std::uint64_t wall_ms);
// A root token grants the pair: with all caveats satisfied, or without any that concerns it.
enum class Caveated { satisfied, absent };
bool root_grants(const World& world, const PublicKey& author, Pair pair, std::uint64_t wall_ms,
                 Caveated caveats);
bool is_owner(const World& world, const PublicKey& author, std::uint64_t wall_ms);
bool is_audited(const World& world, const PublicKey& author, std::uint64_t wall_ms);

}  // namespace holdfast::mesh::oracle

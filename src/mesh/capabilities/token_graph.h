// TokenGraph: all delegations of a mesh, and who may do what by them.
//
// Authority is decided in two strata. First, on the graph of tokens without revocations and times:
// a token is valid if it is the user's root token, or every proof it cites is known, valid, issued
// to its issuer and at least as long-lived, and together they cover each pair that it grants. A
// revocation counts if its author is the issuer or the audience of the target, an issuer of one of
// its ancestors, the user, or an owner. Second, revoked tokens are removed with everything that
// cites them, and operations are judged at their own time.
//
// Guarantees: the result depends on the set of tokens and revocations, not on their order. A
// revocation that counts is never undone. Validity is stored per token, so a query looks at the
// tokens of one audience only.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "mesh/capabilities/token.h"
#include "mesh/ops/reason.h"

namespace holdfast::mesh {

inline constexpr std::size_t kMaxChainTokens = 16;  // a root token counts as 1
inline constexpr std::size_t kMaxProofs = 8;

// admitted, or why not: the most advanced failure over all tokens of the author.
struct Admission {
  Reason reason = Reason::no_chain;
  std::optional<Caveat> failed;  // of caveat_failed

  [[nodiscard]] bool admitted() const { return reason == Reason::none; }
  bool operator==(const Admission&) const = default;
};

// Why one token does not admit something.
struct TokenFault {
  const Token* token = nullptr;  // valid until the graph changes
  Admission admission;
  std::optional<Digest> cause;  // the proof that is missing, or the token that was revoked
};

struct AuthorityChanges {
  std::set<PublicKey> audiences;  // of tokens that became valid, invalid or revoked
  std::set<PublicKey> refused;    // of others: only why they are refused may have changed
  std::set<Digest> tokens;        // all of these tokens
  bool owners = false;            // a token that makes an owner is among them
};

class TokenGraph {
 public:
  explicit TokenGraph(const PublicKey& user) : user_(user) {}

  enum class Structure : std::uint8_t { valid, missing_proof, invalid };

  // Nothing happens when the token is known.
  void add(const Token& token);
  // Remembers the revocation; it counts from the moment its author has the right to it.
  void add_revocation(const PublicKey& author, const Digest& target);
  // Forgets a token that is not valid; revocations of it wait for it again.
  void remove(const Digest& cid);
  // Forgets a revocation that does not count.
  void remove_revocation(const PublicKey& author, const Digest& target);

  [[nodiscard]] bool knows(const Digest& cid) const { return find(cid) != nullptr; }
  // Empty when the token is unknown.
  [[nodiscard]] std::optional<Structure> structure(const Digest& cid) const;
  [[nodiscard]] bool is_revoked(const Digest& cid) const;
  // Whether a revocation by this author counts, ignoring other revocations and times.
  [[nodiscard]] bool may_revoke(const PublicKey& author, const Digest& target) const;

  [[nodiscard]] Admission admit(const PublicKey& author, Pair pair, const CaveatFacts& facts) const;
  // Of each token of the author that does not admit it, by cid.
  [[nodiscard]] std::vector<TokenFault> faults(const PublicKey& author, Pair pair,
                                               const CaveatFacts& facts) const;
  // A live token of the audience grants reading this resource with exactly these rules.
  [[nodiscard]] bool sanitises(const Digest& cid, const PublicKey& audience, Resource resource,
                               const std::vector<SanitiseRule>& rules) const;
  // Holds a token that is in force at that time, whatever it grants.
  [[nodiscard]] Admission admit_enrolled(const PublicKey& author, std::uint64_t wall_ms) const;
  // Holds (Mesh, Write) by a root token that is addressed to it directly.
  [[nodiscard]] bool is_owner(const PublicKey& author, std::uint64_t wall_ms) const;
  // The owner with the lowest node id.
  [[nodiscard]] std::optional<NodeId> first_owner(std::uint64_t wall_ms) const;
  // Holds (UserAssertion, Write) without a caveat that concerns it, by a root token.
  [[nodiscard]] bool speaks_for_user(const PublicKey& author, std::uint64_t wall_ms) const;
  // Inference by this author must be recorded: it holds a root token, or a chain that admits job
  // work, artifacts or claims carries audit_inference.
  [[nodiscard]] bool is_audited(const PublicKey& author, std::uint64_t wall_ms) const;
  // Audiences that could ever claim jobs of this kind, at whatever time.
  [[nodiscard]] std::set<NodeId> possible_claimers(std::string_view kind) const;

  // What changed since the last call.
  AuthorityChanges take_changes();

 private:
  struct Node {
    std::optional<Token> token;  // absent while it is only cited
    Structure structure = Structure::missing_proof;
    std::size_t depth = 0;  // of a valid token
    bool revoked = false;
    std::vector<Digest> children;
  };

  // Whether a change of a token may change what its audience may do.
  enum class Weight : std::uint8_t { reason, authority };

  [[nodiscard]] bool is_root(const Token& token) const;
  [[nodiscard]] Structure judge(const Token& token, std::size_t& depth) const;
  [[nodiscard]] bool covers(const std::vector<const Token*>& parents, const Token& child) const;
  [[nodiscard]] bool is_live(const Node& node) const;
  [[nodiscard]] bool owns_structurally(const PublicKey& author) const;
  // A live token of the author, in time, that grants the pair and whose caveats accept.
  template <typename Accepts>
  [[nodiscard]] bool holds(const PublicKey& author, std::uint64_t wall_ms, Pair pair,
                           Accepts accepts) const;
  void note_change(const Token& token, Weight weight);
  // Why no chain supports the token; none when one does.
  static Reason why_not_chained(const Node& node);
  Admission judge_token(const Node& node, Pair pair, const CaveatFacts& facts) const;
  // The nearest token of the chain, from this one upwards, for which the condition holds.
  template <typename Condition>
  [[nodiscard]] std::optional<Digest> nearest(const Digest& cid, Condition condition) const;
  std::vector<Digest> evaluate_from(const Digest& cid);
  void count_revocations_of(const Digest& target);
  void count_all_revocations();
  void revoke_from(const Digest& cid);
  const Node* find(const Digest& cid) const;

  struct FirstBytes {
    std::size_t operator()(const PublicKey& key) const {
      std::size_t first = 0;
      std::memcpy(&first, key.bytes.data(), sizeof(first));
      return first;
    }
  };
  using Tokens = std::vector<const Node*>;  // each has a token
  // The tokens of an audience, in no order.
  [[nodiscard]] const Tokens& tokens_of(const PublicKey& audience) const;

  PublicKey user_;
  std::map<Digest, Node> nodes_;
  std::unordered_map<PublicKey, Tokens, FirstBytes> by_audience_;  // never iterated
  std::map<NodeId, PublicKey> owners_;  // by root tokens, whether they are in force or not
  std::set<std::pair<Digest, PublicKey>> waiting_revocations_;  // target, author
  std::set<std::pair<Digest, PublicKey>> counted_revocations_;
  AuthorityChanges changes_;
};

}  // namespace holdfast::mesh

// The graph of tokens does not depend on the order in which tokens and revocations arrive.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tests/support/mesh_tokens.h"

namespace holdfast::mesh::token_graph_prop_test {
namespace {

constexpr unsigned kNodes = 4;

struct Event {
  std::optional<Token> token;
  PublicKey revoker;
  Digest target{};
};

SigningKey key(unsigned node) { return node == 0 ? user_key() : numbered_key(node); }

std::vector<Event> any_events() {
  static const std::vector<Grant> kGrants = {grant("*", "*"), grant("Job", "*"),
                                             grant("Job", "Claim", kinds({"a."})),
                                             grant("Job", "Claim", kinds({"a.b"}))};
  std::vector<Token> tokens;
  std::vector<Event> events;
  for (int i = *rc::gen::inRange(1, 9); i > 0; --i) {
    const auto issuer = key(*rc::gen::inRange<unsigned>(0, kNodes));
    TokenSpec spec =
        spec_for(key(*rc::gen::inRange<unsigned>(1, kNodes)), {*rc::gen::elementOf(kGrants)});
    if (!tokens.empty()) {
      for (int proofs = *rc::gen::inRange(0, 3); proofs > 0; --proofs) {
        spec.proofs.push_back((*rc::gen::elementOf(tokens)).cid);
      }
    }
    tokens.push_back(make_token(issuer, spec));
    events.push_back({tokens.back(), {}, {}});
  }
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    events.push_back({std::nullopt, key(*rc::gen::inRange<unsigned>(0, kNodes)).public_key(),
                      (*rc::gen::elementOf(tokens)).cid});
  }
  return events;
}

TokenGraph graph_of(const std::vector<Event>& events) {
  TokenGraph graph(user_key().public_key());
  for (const Event& event : events) {
    if (event.token.has_value()) {
      graph.add(*event.token);
    } else {
      graph.add_revocation(event.revoker, event.target);
    }
  }
  return graph;
}

TEST(TokenGraphLaw, authority_does_not_depend_on_the_order_of_arrival) {  // 114
  rc::check([] {
    const auto events = any_events();
    const TokenGraph expected = graph_of(events);
    auto shuffled = events;
    for (std::size_t i = shuffled.size(); i > 1; --i) {
      std::swap(shuffled[i - 1], shuffled[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    shuffled.push_back(shuffled.front());  // and a repeat
    const TokenGraph graph = graph_of(shuffled);
    for (const Event& event : events) {
      if (event.token.has_value()) {
        RC_ASSERT(graph.structure(event.token->cid) == expected.structure(event.token->cid));
        RC_ASSERT(graph.is_revoked(event.token->cid) == expected.is_revoked(event.token->cid));
      }
    }
    for (unsigned node = 0; node < kNodes; ++node) {
      const PublicKey author = key(node).public_key();
      for (const std::string_view kind : {"a.b", "a.c", "b"}) {
        const Pair claim{Resource::job, Action::claim};
        RC_ASSERT(graph.admit(author, claim, {.wall_ms = 0, .kind = kind}) ==
                  expected.admit(author, claim, {.wall_ms = 0, .kind = kind}));
      }
      RC_ASSERT(graph.is_owner(author, 0) == expected.is_owner(author, 0));
    }
  });
}

TEST(TokenGraphLaw, a_valid_child_never_admits_more_than_all_its_parents) {
  rc::check([] {
    const auto events = any_events();
    const TokenGraph graph = graph_of(events);
    for (const Event& event : events) {
      if (!event.token.has_value() || event.token->proofs.empty() ||
          graph.structure(event.token->cid) != TokenGraph::Structure::valid) {
        continue;
      }
      for (const std::string_view kind : {"a.b", "a.c", "b"}) {
        const Pair claim{Resource::job, Action::claim};
        TokenGraph parents(user_key().public_key());
        for (const Event& other : events) {
          if (other.token.has_value() && other.token->cid != event.token->cid) {
            parents.add(*other.token);
          }
        }
        const CaveatFacts facts{.wall_ms = 0, .kind = kind};
        TokenGraph with = parents;
        with.add(*event.token);
        const bool child_admits = with.admit(event.token->audience, claim, facts).admitted();
        const bool before = parents.admit(event.token->audience, claim, facts).admitted();
        const bool parent_admits = parents.admit(event.token->issuer, claim, facts).admitted();
        if (child_admits && !before) {
          RC_ASSERT(parent_admits);
        }
      }
    }
  });
}

}  // namespace
}  // namespace holdfast::mesh::token_graph_prop_test

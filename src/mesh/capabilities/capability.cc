#include "mesh/capabilities/capability.h"

#include <algorithm>

namespace holdfast::mesh {

namespace {

using Texts = std::optional<std::vector<std::string>>;

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool has_prefix_of(const std::vector<std::string>& prefixes, std::string_view text) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.starts_with(prefix); });
}

// Every text of the child is admitted by the parent's list.
template <typename Admits>
bool narrows(const Texts& child, const Texts& parent, Admits admits) {
  if (!parent.has_value()) {
    return true;
  }
  return child.has_value() &&
         std::all_of(child->begin(), child->end(),
                     [&](const std::string& text) { return admits(*parent, text); });
}

bool narrows(const std::optional<TimeRange>& child, const std::optional<TimeRange>& parent) {
  if (!parent.has_value()) {
    return true;
  }
  return child.has_value() && child->start_ms >= parent->start_ms &&
         child->end_ms <= parent->end_ms;
}

bool is_as_strong(const SanitiseRule& child, const SanitiseRule& parent) {
  return child.kind == parent.kind && child.truncate_bytes <= parent.truncate_bytes;
}

bool narrows(const std::optional<std::vector<SanitiseRule>>& child,
             const std::optional<std::vector<SanitiseRule>>& parent) {
  if (!parent.has_value()) {
    return true;
  }
  return child.has_value() &&
         std::all_of(parent->begin(), parent->end(), [&](const SanitiseRule& rule) {
           return std::any_of(child->begin(), child->end(), [&](const SanitiseRule& stronger) {
             return is_as_strong(stronger, rule);
           });
         });
}

bool is_narrower(Caveat caveat, const Caveats& child, const Caveats& parent) {
  switch (caveat) {
    case Caveat::source_types:
      return narrows(child.source_types, parent.source_types, contains);
    case Caveat::predicates:
      return narrows(child.predicates, parent.predicates, contains);
    case Caveat::kind_prefix:
      return narrows(child.kind_prefix, parent.kind_prefix, has_prefix_of);
    case Caveat::time_range:
      return narrows(child.time_range, parent.time_range);
    case Caveat::sanitize:
      return narrows(child.sanitize, parent.sanitize);
    case Caveat::audit_inference:
      return child.audit_inference || !parent.audit_inference;
  }
  return false;
}

bool is_satisfied(Caveat caveat, const Caveats& caveats, const CaveatFacts& facts) {
  switch (caveat) {
    case Caveat::source_types:
      return !caveats.source_types.has_value() || !facts.source_type.has_value() ||
             contains(*caveats.source_types, *facts.source_type);
    case Caveat::predicates:
      return !caveats.predicates.has_value() || !facts.predicate.has_value() ||
             contains(*caveats.predicates, *facts.predicate);
    case Caveat::kind_prefix:
      return !caveats.kind_prefix.has_value() || !facts.kind.has_value() ||
             has_prefix_of(*caveats.kind_prefix, *facts.kind);
    case Caveat::time_range:
      return !caveats.time_range.has_value() || (facts.wall_ms >= caveats.time_range->start_ms &&
                                                 facts.wall_ms < caveats.time_range->end_ms);
    case Caveat::sanitize:         // changes what a peer is sent, not who may do what
    case Caveat::audit_inference:  // a duty, judged by the rules of the audit
      return true;
  }
  return false;
}

bool matches(std::string_view name, std::string_view own_name) {
  return name == "*" || name == own_name;
}

}  // namespace

bool is_defined(Pair pair) {
  switch (pair.action) {
    case Action::read:
      return true;
    case Action::write:
      return pair.resource != Resource::job;
    case Action::schedule:
    case Action::claim:
    case Action::complete:
      return pair.resource == Resource::job;
  }
  return false;
}

std::vector<Pair> PairSet::pairs() const {
  std::vector<Pair> found;
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    if (bits_[i]) {
      found.push_back({static_cast<Resource>(i / kActions), static_cast<Action>(i % kActions)});
    }
  }
  return found;
}

std::optional<PairSet> expand(std::string_view resource, std::string_view action) {
  if (resource != "*" && resource != "Ops" && !enum_from<Resource>(resource).has_value()) {
    return std::nullopt;
  }
  PairSet set;
  for (std::size_t r = 0; r < kResources; ++r) {
    for (std::size_t a = 0; a < kActions; ++a) {
      const Pair pair{static_cast<Resource>(r), static_cast<Action>(a)};
      // (Ops, Schedule), (Ops, Claim) and (Ops, Complete) grant nothing; (Ops, *) is (*, *).
      const bool by_ops = resource == "Ops" && (action == "*" || pair.action == Action::read ||
                                                pair.action == Action::write);
      if (is_defined(pair) && (by_ops || matches(resource, to_text(pair.resource))) &&
          matches(action, to_text(pair.action))) {
        set.add(pair);
      }
    }
  }
  return set;
}

bool concerns(Caveat caveat, Pair pair) {
  switch (caveat) {
    case Caveat::source_types:
      return pair.resource == Resource::evidence;
    case Caveat::predicates:
      return pair.resource == Resource::claim;
    case Caveat::kind_prefix:
      return pair.resource == Resource::job;
    case Caveat::time_range:
      return true;
    case Caveat::sanitize:
      return pair.action == Action::read;
    case Caveat::audit_inference:
      return pair.action == Action::claim || pair.action == Action::complete ||
             (pair.action == Action::write &&
              (pair.resource == Resource::claim || pair.resource == Resource::artifact));
  }
  return false;
}

std::optional<Caveat> first_failure(const Caveats& caveats, Pair pair, const CaveatFacts& facts) {
  for (std::size_t i = 0; i < kCaveats; ++i) {
    const auto caveat = static_cast<Caveat>(i);
    if (concerns(caveat, pair) && !is_satisfied(caveat, caveats, facts)) {
      return caveat;
    }
  }
  return std::nullopt;
}

bool is_narrower(const Caveats& child, const Caveats& parent, Pair pair) {
  for (std::size_t i = 0; i < kCaveats; ++i) {
    const auto caveat = static_cast<Caveat>(i);
    if (concerns(caveat, pair) && !is_narrower(caveat, child, parent)) {
      return false;
    }
  }
  return true;
}

}  // namespace holdfast::mesh

// Pairs, caveats and attenuation. The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/capabilities/capability.h"

#include <gtest/gtest.h>

namespace holdfast::mesh::capability_test {
namespace {

constexpr Pair kJobClaim{Resource::job, Action::claim};
constexpr Pair kJobRead{Resource::job, Action::read};
constexpr Pair kEvidenceWrite{Resource::evidence, Action::write};
constexpr Pair kClaimWrite{Resource::claim, Action::write};

Caveats with_kinds(std::vector<std::string> prefixes) {
  Caveats caveats;
  caveats.kind_prefix = std::move(prefixes);
  return caveats;
}
Caveats with_range(std::uint64_t start_ms, std::uint64_t end_ms) {
  Caveats caveats;
  caveats.time_range = TimeRange{start_ms, end_ms};
  return caveats;
}
Caveats with_rules(std::vector<SanitiseRule> rules) {
  Caveats caveats;
  caveats.sanitize = std::move(rules);
  return caveats;
}
Caveats with_audit(bool audit) {
  Caveats caveats;
  caveats.audit_inference = audit;
  return caveats;
}

TEST(Pairs, twenty_two_are_defined) {
  const auto all = expand("*", "*");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->pairs().size(), 22U);
  EXPECT_FALSE(all->has({Resource::job, Action::write}));
  EXPECT_FALSE(all->has({Resource::evidence, Action::claim}));
  EXPECT_TRUE(all->has(kJobClaim));
}

TEST(Pairs, an_unknown_resource_is_refused_and_an_undefined_pair_grants_nothing) {  // 105
  EXPECT_EQ(expand("Rocket", "Read"), std::nullopt);
  EXPECT_EQ(expand("evidence", "Read"), std::nullopt);
  EXPECT_EQ(expand("Evidence", "Claim"), PairSet{});
  EXPECT_EQ(expand("Evidence", "Launch"), PairSet{});
  EXPECT_EQ(expand("Job", "Write"), PairSet{});
}

TEST(Pairs, ops_covers_reading_and_writing_of_every_resource) {  // 106
  EXPECT_EQ(expand("Ops", "Read"), expand("*", "Read"));
  EXPECT_EQ(expand("Ops", "Write"), expand("*", "Write"));
  EXPECT_EQ(expand("Ops", "*"), expand("*", "*"));
}

TEST(Pairs, writing_everything_gives_no_authority_over_jobs) {  // 107
  for (const Action action : {Action::schedule, Action::claim, Action::complete}) {
    EXPECT_FALSE(expand("Ops", "Write")->has({Resource::job, action}));
    EXPECT_TRUE(expand("Ops", to_text(action))->empty());
    EXPECT_TRUE(expand("*", to_text(action))->has({Resource::job, action}));
    EXPECT_TRUE(expand("Ops", "*")->has({Resource::job, action}));
  }
}

TEST(Attenuation, a_child_prefix_must_extend_a_parent_prefix) {  // 100
  const Caveats parent = with_kinds({"cortex.synthesize.", "x."});
  EXPECT_TRUE(is_narrower(with_kinds({"cortex.synthesize."}), parent, kJobClaim));
  EXPECT_TRUE(is_narrower(with_kinds({"cortex.synthesize.window", "x.y"}), parent, kJobClaim));
  EXPECT_FALSE(is_narrower(with_kinds({"cortex."}), parent, kJobClaim));
  EXPECT_FALSE(is_narrower(with_kinds({""}), parent, kJobClaim));
  EXPECT_FALSE(is_narrower(with_kinds({"x.y", "z"}), parent, kJobClaim));
  EXPECT_TRUE(is_narrower(with_kinds({}), parent, kJobClaim));
}

TEST(Attenuation, each_caveat_may_be_narrowed_and_not_broadened) {  // 99
  Caveats parent;
  parent.source_types = {"mail", "chat"};
  parent.predicates = {"likes"};
  Caveats child = parent;
  child.source_types = {"mail"};
  EXPECT_TRUE(is_narrower(child, parent, kEvidenceWrite));
  child.source_types = {"mail", "photo"};
  EXPECT_FALSE(is_narrower(child, parent, kEvidenceWrite));
  EXPECT_TRUE(is_narrower(child, parent, kClaimWrite));
  child.predicates = {"likes", "knows"};
  EXPECT_FALSE(is_narrower(child, parent, kClaimWrite));

  EXPECT_TRUE(is_narrower(with_range(10, 20), with_range(10, 20), kJobClaim));
  EXPECT_FALSE(is_narrower(with_range(9, 20), with_range(10, 20), kJobClaim));
  EXPECT_FALSE(is_narrower(with_range(10, 21), with_range(10, 20), kJobClaim));

  using enum SanitiseRule::Kind;
  const Caveats rules = with_rules({{truncate_content, 10}, {strip_geo, 0}});
  EXPECT_TRUE(is_narrower(with_rules({{strip_geo, 0}, {truncate_content, 9}}), rules, kJobRead));
  EXPECT_FALSE(is_narrower(with_rules({{strip_geo, 0}, {truncate_content, 11}}), rules, kJobRead));
  EXPECT_FALSE(is_narrower(with_rules({{truncate_content, 9}}), rules, kJobRead));

  EXPECT_TRUE(is_narrower(with_audit(true), with_audit(false), kJobClaim));
}

TEST(Attenuation, the_duty_to_record_inference_cannot_be_dropped) {  // 143
  EXPECT_FALSE(is_narrower(with_audit(false), with_audit(true), kJobClaim));
  EXPECT_TRUE(is_narrower(with_audit(true), with_audit(true), kJobClaim));
  EXPECT_FALSE(is_narrower(with_audit(false), with_audit(true), kClaimWrite));
  EXPECT_TRUE(is_narrower(with_audit(false), with_audit(true), kEvidenceWrite));
}

TEST(Attenuation, an_omitted_caveat_is_a_broadening) {  // 101
  Caveats parent = with_kinds({"a."});
  parent.source_types = {"mail"};
  parent.predicates = {"likes"};
  EXPECT_FALSE(is_narrower({}, parent, kJobClaim));
  EXPECT_FALSE(is_narrower({}, parent, kEvidenceWrite));
  EXPECT_FALSE(is_narrower({}, parent, kClaimWrite));
  EXPECT_FALSE(is_narrower({}, with_range(1, 2), kClaimWrite));
  EXPECT_FALSE(is_narrower({}, with_rules({}), kJobRead));
  // What the parent's caveat does not concern may be passed on without it.
  EXPECT_TRUE(is_narrower({}, parent, {Resource::mesh, Action::write}));
  EXPECT_TRUE(is_narrower({}, with_rules({}), kJobClaim));
}

TEST(Caveats, a_time_range_includes_its_start_and_excludes_its_end) {  // 96
  const auto fails = [](std::uint64_t wall_ms) {
    return first_failure(with_range(10, 20), kJobClaim, {.wall_ms = wall_ms}).has_value();
  };
  EXPECT_TRUE(fails(9));
  EXPECT_FALSE(fails(10));
  EXPECT_FALSE(fails(19));
  EXPECT_TRUE(fails(20));
}

TEST(Caveats, lists_admit_what_they_name_and_an_empty_list_admits_nothing) {
  CaveatFacts facts;
  facts.kind = "cortex.synthesize.window";
  EXPECT_EQ(first_failure(with_kinds({"cortex.synth"}), kJobClaim, facts), std::nullopt);
  EXPECT_EQ(first_failure(with_kinds({"cortex.tool."}), kJobClaim, facts), Caveat::kind_prefix);
  EXPECT_EQ(first_failure(with_kinds({}), kJobClaim, facts), Caveat::kind_prefix);
  EXPECT_EQ(first_failure(with_kinds({}), kJobClaim, {}), std::nullopt);  // the kind is unknown
  EXPECT_EQ(first_failure(with_kinds({}), kEvidenceWrite, facts), std::nullopt);
  Caveats caveats;
  caveats.source_types = {"mail"};
  caveats.predicates = {"likes"};
  facts.source_type = "mail";
  facts.predicate = "knows";
  EXPECT_EQ(first_failure(caveats, kEvidenceWrite, facts), std::nullopt);
  EXPECT_EQ(first_failure(caveats, kClaimWrite, facts), Caveat::predicates);
}

}  // namespace
}  // namespace holdfast::mesh::capability_test

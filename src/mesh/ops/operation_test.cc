// What decode refuses, and the rules that need no other operation. The numbers at the tests are
// those of docs/mesh-tests.md.
#include "mesh/ops/operation.h"

#include <gtest/gtest.h>

#include "mesh/ops/sanitise.h"
#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::operation_test {
namespace {

constexpr std::string_view kHead = "018bcfe5680000010203040506070809";

// An unsigned operation: id, then the given hex.
Result<Operation> decode_after_id(std::string_view hex) {
  return decode_operation(unhex(std::string(kHead) + std::string(hex)));
}

constexpr std::string_view kTime = "80d095ffbc310007";

std::string designate(std::string_view body) {
  return "01" + std::string(kTime) + "0700" + std::string(body);
}

bool is_refused(const Payload& payload) {
  return !check_operation(sample_operation(payload)).ok() &&
         !decode_operation(encode_operation(sample_operation(payload))).ok();
}

TEST(Decode, every_kind_gives_its_operation_back) {  // 6
  for (const Payload& payload : sample_payloads()) {
    const Operation operation = sign_operation(sample_operation(payload), rfc_key());
    const auto decoded = decode_operation(encode_operation(operation));
    ASSERT_TRUE(decoded.ok()) << decoded.error().text();
    EXPECT_EQ(decoded.value(), operation);
  }
}

TEST(Decode, options_and_bools_are_00_or_01) {  // 2
  EXPECT_TRUE(decode_after_id(designate("15016b010900")).ok());
  EXPECT_TRUE(decode_after_id(designate("15016b0000")).ok());
  EXPECT_FALSE(decode_after_id(designate("15016b020900")).ok());
  EXPECT_FALSE(decode_after_id(designate("15016bff0900")).ok());
  EXPECT_FALSE(decode_after_id(designate("120902")).ok());  // the option of the signature
}

TEST(Decode, numbers_have_one_form_and_fit_their_field) {  // 4
  EXPECT_TRUE(decode_after_id(designate("12ac0200")).ok());
  EXPECT_FALSE(decode_after_id(designate("12ac820000")).ok());  // overlong
  EXPECT_FALSE(decode_after_id(designate("12800000")).ok());
  EXPECT_TRUE(decode_after_id(designate("12ffffffffffffffffff0100")).ok());
  EXPECT_FALSE(decode_after_id(designate("12ffffffffffffffffff0200")).ok());  // beyond 64 bits
  EXPECT_FALSE(decode_after_id(designate("12ffffffffffffffffffff0100")).ok());
  EXPECT_TRUE(decode_after_id("0180d095ffbc31ffffffff0f070700120900").ok());
  EXPECT_FALSE(decode_after_id("0180d095ffbc31ffffffff1f070700120900").ok());  // beyond 32 bits
}

TEST(Decode, truncated_and_extended_bytes_are_refused) {  // 4
  for (const Payload& payload : sample_payloads()) {
    auto wire = encode_operation(sign_operation(sample_operation(payload), rfc_key()));
    for (std::size_t size = 0; size < wire.size(); ++size) {
      EXPECT_FALSE(decode_operation(std::span(wire).first(size)).ok()) << size;
    }
    wire.push_back(std::byte{0});
    EXPECT_FALSE(decode_operation(wire).ok());
  }
}

TEST(Decode, an_unknown_kind_is_refused_and_what_came_before_it_counts) {  // 5
  EXPECT_FALSE(decode_after_id(designate("1a00")).ok());
  EXPECT_FALSE(decode_after_id(designate("3e00")).ok());
  EXPECT_FALSE(decode_after_id(designate("3f3f00")).ok());  // a wrapper in a wrapper
  const auto good = encode_operation(sample_operation(DesignateCoordinator{{9}}));
  const auto bad = unhex(std::string(kHead) + designate("1a00"));
  const auto decoded = decode_sequence(encode_sequence(std::vector<Bytes>{good, bad, good}));
  EXPECT_EQ(decoded.operations.size(), 1U);
  EXPECT_EQ(decoded.bytes, std::vector<Bytes>{good});
  EXPECT_TRUE(decoded.malformed.has_value());
  const auto next = decode_sequence(encode_sequence(std::vector<Bytes>{good, good}));
  EXPECT_EQ(next.operations.size(), 2U);
  EXPECT_FALSE(next.malformed.has_value());
}

TEST(Decode, a_sequence_ends_where_its_count_ends) {
  const auto good = encode_operation(sample_operation(DesignateCoordinator{{9}}));
  auto wire = encode_sequence(std::vector<Bytes>{good});
  wire.push_back(std::byte{0});
  EXPECT_TRUE(decode_sequence(wire).malformed.has_value());
  EXPECT_FALSE(decode_sequence(unhex("00")).malformed.has_value());
  EXPECT_TRUE(decode_sequence(unhex("ffffffffffffffffff01")).malformed.has_value());
  EXPECT_TRUE(decode_sequence({}).malformed.has_value());
}

TEST(Decode, the_timestamp_is_of_the_author) {  // 7
  EXPECT_TRUE(decode_after_id("01" + std::string(kTime) + "0700120900").ok());
  EXPECT_FALSE(decode_after_id("01" + std::string(kTime) + "0800120900").ok());
}

TEST(Decode, another_schema_version_is_refused) {
  EXPECT_FALSE(decode_after_id("02" + std::string(kTime) + "0700120900").ok());
  EXPECT_FALSE(decode_after_id("00" + std::string(kTime) + "0700120900").ok());
}

TEST(Decode, texts_are_utf8_numbers_are_not_nan_and_map_keys_ascend) {
  EXPECT_FALSE(decode_after_id(designate("0d018bcfe56800aaaaaaaaaaaaaaaaaaaa0701ff00")).ok());
  Operation operation = sample_operation(sample_payloads()[22]);
  std::get<CreateEpisode>(operation.payload).confidence = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(decode_operation(encode_operation(operation)).ok());
  for (const float legal : {std::numeric_limits<float>::infinity(), -0.0F}) {
    std::get<CreateEpisode>(operation.payload).confidence = legal;
    EXPECT_TRUE(decode_operation(encode_operation(operation)).ok());
  }
  std::string evidence = hex_of(encode_operation(sample_operation(sample_payloads()[0])));
  ASSERT_TRUE(decode_operation(unhex(evidence)).ok());
  const std::size_t keys = evidence.find("0201610131016200");
  ASSERT_NE(keys, std::string::npos);
  EXPECT_FALSE(
      decode_operation(unhex(std::string(evidence).replace(keys, 16, "0201620131016100"))).ok());
  EXPECT_FALSE(
      decode_operation(unhex(std::string(evidence).replace(keys, 16, "0201610131016100"))).ok());
}

TEST(Check, causal_deps_name_each_other_operation_once) {  // 8
  Operation operation = sample_operation(DesignateCoordinator{{9}});
  const auto other = sample_id<OpId>();
  operation.causal_deps = {other};
  EXPECT_TRUE(decode_operation(encode_operation(operation)).ok());
  operation.causal_deps = {other, other};
  EXPECT_FALSE(decode_operation(encode_operation(operation)).ok());
  operation.causal_deps = {other, operation.id};
  EXPECT_FALSE(decode_operation(encode_operation(operation)).ok());
  operation.causal_deps.clear();
  for (std::size_t i = 0; i <= kMaxCausalDeps; ++i) {
    OpId id = other;
    id.bytes[0] = static_cast<std::byte>(i);
    id.bytes[1] = static_cast<std::byte>(i >> 8U);
    operation.causal_deps.push_back(id);
  }
  EXPECT_FALSE(decode_operation(encode_operation(operation)).ok());
  operation.causal_deps.pop_back();
  EXPECT_TRUE(decode_operation(encode_operation(operation)).ok());
}

TEST(Check, wall_time_fits_an_operation_id) {
  Operation operation = sample_operation(DesignateCoordinator{{9}});
  operation.timestamp.wall_ms = kMaxWallMs;
  EXPECT_TRUE(decode_operation(encode_operation(operation)).ok());
  operation.timestamp.wall_ms = kMaxWallMs + 1;
  EXPECT_FALSE(decode_operation(encode_operation(operation)).ok());
}

TEST(Check, claims_and_yields_name_their_author) {  // 56
  const JobId job = sample_id<JobId>();
  EXPECT_FALSE(is_refused(ClaimWork{job, {7}, 1}));
  EXPECT_TRUE(is_refused(ClaimWork{job, {8}, 1}));
  EXPECT_FALSE(is_refused(YieldWork{job, {7}, ""}));
  EXPECT_TRUE(is_refused(YieldWork{job, {8}, ""}));
  EXPECT_FALSE(is_refused(ExpireWork{job, {8}, ""}));
}

TEST(Check, a_lease_of_0_is_refused_and_a_huge_one_is_not) {  // 57
  const JobId job = sample_id<JobId>();
  EXPECT_TRUE(is_refused(ClaimWork{job, {7}, 0}));
  EXPECT_FALSE(is_refused(ClaimWork{job, {7}, std::numeric_limits<std::uint64_t>::max()}));
}

TEST(Check, job_kinds_are_short_texts_without_control_characters) {
  const auto job = sample_id<JobId>();
  for (const std::string kind : {"", "a\x1F", "\n", "a\x7F", "\xC2\x80", "\xC2\x9F"}) {
    EXPECT_TRUE(is_refused(ScheduleJob{job, kind, {}, {}})) << kind;
    EXPECT_TRUE(is_refused(RouteKind{kind, NodeId{7}})) << kind;
  }
  for (const std::string& kind :
       {std::string(255, 'k'), std::string(" ~"), std::string("\xC2\xA0")}) {
    EXPECT_FALSE(is_refused(ScheduleJob{job, kind, {}, {}})) << kind;
    EXPECT_FALSE(is_refused(RouteKind{kind, NodeId{7}})) << kind;
  }
  EXPECT_TRUE(is_refused(ScheduleJob{job, std::string(256, 'k'), {}, {}}));
}

TEST(Check, inline_content_has_the_declared_hash_and_size) {
  auto artifact = std::get<CreateArtifact>(sample_payloads()[16]);
  EXPECT_FALSE(is_refused(artifact));
  artifact.size_bytes = 3;
  EXPECT_TRUE(is_refused(artifact));
  artifact.size_bytes = 2;
  artifact.content_hash = blake3("ho");
  EXPECT_TRUE(is_refused(artifact));
  artifact.content_inline.reset();
  EXPECT_FALSE(is_refused(artifact));
}

TEST(Check, a_delegation_is_identified_by_the_hash_of_its_token) {  // 108
  EXPECT_FALSE(is_refused(DelegateUcan{blake3("hi"), bytes_of("hi")}));
  EXPECT_TRUE(is_refused(DelegateUcan{blake3("ho"), bytes_of("hi")}));
}

TEST(Check, operations_that_coordinate_nodes_are_never_sanitised) {  // 14
  const SanitisedMark mark{{{SanitiseRule::Kind::strip_geo, 0}}, blake3("abc")};
  for (const Payload& payload : sample_payloads()) {
    const bool coordinates = (payload.index() >= 10 && payload.index() <= 15) ||
                             (payload.index() >= 18 && payload.index() <= 21);
    const auto wire = encode_operation(sanitise(sample_operation(payload), mark));
    EXPECT_EQ(decode_operation(wire).ok(), !coordinates) << kind_name(payload.index());
  }
}

TEST(Sanitise, removes_what_its_rules_name_and_the_signature) {
  const Operation whole = sign_operation(sample_operation(sample_payloads()[0]), rfc_key());
  const auto metadata_after = [&](SanitiseRule rule) {
    const Operation copy = sanitise(whole, {{rule}, blake3("abc")});
    EXPECT_FALSE(copy.signature.has_value());
    return *std::get<IngestEvidence>(copy.payload).metadata;
  };
  using enum SanitiseRule::Kind;
  const EvidenceMetadata before = *std::get<IngestEvidence>(whole.payload).metadata;
  EXPECT_FALSE(metadata_after({strip_geo, 0}).geo.has_value());
  EXPECT_EQ(metadata_after({strip_geo, 0}).participants, before.participants);
  EXPECT_TRUE(metadata_after({redact_participants, 0}).participants.empty());
  EXPECT_TRUE(metadata_after({strip_custom_metadata, 0}).custom.empty());
  EXPECT_EQ(metadata_after({truncate_content, 0}).custom.at("a"), "");
  EXPECT_EQ(metadata_after({truncate_content, 1}).custom.at("a"), "1");
}

TEST(Sanitise, content_is_cut_at_a_character) {
  IngestEvidence evidence = std::get<IngestEvidence>(sample_payloads()[0]);
  evidence.metadata->custom = {{"k", "aéb"}};
  const auto cut_to = [&](std::uint64_t max_bytes) {
    const SanitiseRule rule{SanitiseRule::Kind::truncate_content, max_bytes};
    const Operation copy = sanitise(sample_operation(evidence), {{rule}, {}});
    return std::get<IngestEvidence>(copy.payload).metadata->custom.at("k");
  };
  EXPECT_EQ(cut_to(0), "");
  EXPECT_EQ(cut_to(1), "a");
  EXPECT_EQ(cut_to(2), "a");
  EXPECT_EQ(cut_to(3), "aé");
  EXPECT_EQ(cut_to(99), "aéb");
}

TEST(OpIds, start_with_the_wall_time) {
  const auto random = unhex("00010203040506070809");
  EXPECT_EQ(to_text(make_op_id(1700000000000, std::span<const std::byte, 10>(random))),
            "018bcfe5680000010203040506070809");
}

}  // namespace
}  // namespace holdfast::mesh::operation_test

// Bytes of operations, fixed for ever: an implementation that differs in one of them cannot take
// part in a mesh. The numbers at the tests are those of docs/mesh-tests.md.
#include <gtest/gtest.h>

#include "mesh/ops/operation.h"
#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::operation_codec_test {
namespace {

struct KindVector {
  std::string_view payload;      // discriminant and body
  std::string_view signed_hash;  // the first 8 bytes of the BLAKE3 of the signed operation
};

constexpr KindVector kKinds[] = {
    {"00018bcfe56800aaaaaaaaaaaaaaaaaaaa6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c"
     "6cd5bd9d8503c3a93103c3a9310101ac0201000000000000f8bf000000000000f8bf0203c3a93103c3a93102"
     "01610131016200",
     "583611392e3794b8"},
    {"01018bcfe56800aaaaaaaaaaaaaaaaaaaa03c3a931", "efa07468f185b05f"},
    {"02018bcfe56800aaaaaaaaaaaaaaaaaaaa0803c3a93102018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe568"
     "00aaaaaaaaaaaaaaaaaaaa",
     "bd1eb42d7e0f85b5"},
    {"03018bcfe56800aaaaaaaaaaaaaaaaaaaa03c3a931", "a05fd12afd8f6cb9"},
    {"04018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaa"
     "aaaaaaaaaaaa03c3a931",
     "44997e3d2f5b9a51"},
    {"05018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaa"
     "aaaaaaaaaaaa03c3a931",
     "3985ed546395112b"},
    {"06018bcfe56800aaaaaaaaaaaaaaaaaaaa06018bcfe56800aaaaaaaaaaaaaaaaaaaa03c3a9310103c3a93106"
     "0203c3a9310000003f03c3a9310000003f02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaa"
     "aaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe5"
     "6800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaa"
     "aa018bcfe56800aaaaaaaaaaaaaaaaaaaa",
     "812053edab267a4b"},
    {"07018bcfe56800aaaaaaaaaaaaaaaaaaaa060103c3a931", "ab6427c460d457af"},
    {"08018bcfe56800aaaaaaaaaaaaaaaaaaaa0203c3a9310000003f03c3a9310000003f", "340c19b937f0a110"},
    {"09018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa03c3a931",
     "6f8f2f923846dd62"},
    {"0a018bcfe56800aaaaaaaaaaaaaaaaaaaa016b026869026869", "527911f80a8ce59f"},
    {"0b018bcfe56800aaaaaaaaaaaaaaaaaaaa07e0d403", "c62dff4f6e8bd906"},
    {"0c018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaa"
     "aaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaaac02ac02ac"
     "02ac02",
     "32f4048cfa33a907"},
    {"0d018bcfe56800aaaaaaaaaaaaaaaaaaaa0703c3a931", "c23fabd3d6b3e0cf"},
    {"0e018bcfe56800aaaaaaaaaaaaaaaaaaaaac0203c3a931", "855adef3408bd992"},
    {"0f0501018bcfe56800aaaaaaaaaaaaaaaaaaaa0103c3a931", "a76e719626bd03a1"},
    {"10018bcfe56800aaaaaaaaaaaaaaaaaaaa03c3a93101018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe568"
     "00aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa85052e9aab1b67b6622d94a08441b09fd5"
     "b7aca61ee360416d70de5da67d86ca010268690103c3a9310103c3a9310201ac02",
     "0cf79bf2025c4527"},
    {"11018bcfe56800aaaaaaaaaaaaaaaaaaaa", "59d7583f603e29c2"},
    {"12ac02", "6d0d54b49b7c1f13"},
    {"1385052e9aab1b67b6622d94a08441b09fd5b7aca61ee360416d70de5da67d86ca026869",
     "141f38fe4798faa2"},
    {"146437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85", "87f078dca60622c8"},
    {"1503c3a93101ac02", "325faa2614589d04"},
    {"16018bcfe56800aaaaaaaaaaaaaaaaaaaa03c3a9310103c3a931ac0201ac0202018bcfe56800aaaaaaaaaaaa"
     "aaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aa"
     "aaaaaaaaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa0000"
     "003f",
     "78d3e2aa646abf45"},
    {"17018bcfe56800aaaaaaaaaaaaaaaaaaaa0103c3a9310103c3a931010000003f010202018bcfe56800aaaaaa"
     "aaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe5"
     "6800aaaaaaaaaaaaaaaaaaaa",
     "dfadf82dcd49b51e"},
    {"18018bcfe56800aaaaaaaaaaaaaaaaaaaa03c3a93103c3a93103c3a93101018bcfe56800aaaaaaaaaaaaaaaa"
     "aaaa02018bcfe56800aaaaaaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa02018bcfe56800aaaa"
     "aaaaaaaaaaaaaaaa018bcfe56800aaaaaaaaaaaaaaaaaaaa01018bcfe56800aaaaaaaaaaaaaaaaaaaa000000"
     "3f",
     "2c558da6dc5964b3"},
    {"19018bcfe56800aaaaaaaaaaaaaaaaaaaa070103c3a931", "470b9f916a51d757"},
};

constexpr std::string_view kEnvelope = "018bcfe56800000102030405060708090180d095ffbc3100070700";

TEST(GoldenVectors, every_kind_encodes_byte_for_byte) {  // 1
  const auto payloads = sample_payloads();
  ASSERT_EQ(payloads.size(), std::size(kKinds));
  for (std::size_t kind = 0; kind < payloads.size(); ++kind) {
    const Operation operation = sample_operation(payloads[kind]);
    EXPECT_EQ(hex_of(signing_bytes(operation)),
              std::string(kEnvelope) + std::string(kKinds[kind].payload) + "00")
        << kind_name(kind);
    const auto wire = encode_operation(sign_operation(operation, rfc_key()));
    EXPECT_EQ(to_hex(blake3(wire)).substr(0, 16), kKinds[kind].signed_hash) << kind_name(kind);
  }
}

struct SignedVector {
  Payload payload;
  std::string_view signature, hash;
  std::size_t bytes;
};

TEST(GoldenVectors, signed_operations_match_byte_for_byte) {  // 1
  const JobId job = sample_id<JobId>();
  const std::string echo = "cortex.tool.echo";
  const SignedVector vectors[] = {
      {ClaimWork{job, {7}, 60000},
       "C2RVAnJ0wCYchVKNGnNDIm_SdYxtD2646mR9nsdCtwBcrDKVU_bF9BVvut9OKF42ZHMjb76ZK1qgTd0o1N9AAA",
       "c62dff4f6e8bd906c277f36604c5545e1d498efe30b663e54bff8f992785aab0", 179},
      {ScheduleJob{job, echo, bytes_of("hi"), {}},
       "iBmc9zwKvdPq5Fx4bkuXu_N547lY1Gadw0_xnpAICb2Bikv4PuGxHcjhTGvvMhBSECM6n3L7Sd7_3wYnsXk5Cg",
       "7ec2305f89f736470efe0ba3482d23e001e9df68ed87770a1f0f5294bda7dfdb", 196},
      {RouteKind{echo, NodeId{9}},
       "015cZYLDP6cdReaEZvvHq0VObG7jNTUIT4MI7ozazlssnep5GdoeSgSjINF76-On4Karmrv37S2b3VX-EAGzDQ",
       "42a8254cf5249e8a12d9b3aadde768a4faba7e96a98d79396d897ea41aa08833", 178},
      {RouteKind{echo, std::nullopt},
       "gOOTtjWXrhb8RyNUEygKvGNwyD-E-VT2tX2V4QL5nBf0mcCVT-ZsFW6J95Ic1hWz8XkocwqH7HC8u5f9dEn0Cw",
       "bb31b1f247b349b8840151e915b8fbdecd097e7ce21f729329e72f866845f0d9", 177},
      {DesignateCoordinator{{9}},
       "ZqEJZZtGQMDR355ICoJVsTIWeqApDHpoDGfp_aOQIFUZToIOylaJmfTH7LwT25MuxNe24fk-gYN77CyB1TSMAw",
       "34adb4d732b48127641df581624549e110b45a602315d65e2548a0f4144e3a12", 160},
  };
  for (const SignedVector& vector : vectors) {
    const Operation operation = sign_operation(sample_operation(vector.payload), rfc_key());
    const auto wire = encode_operation(operation);
    EXPECT_EQ(*operation.signature,
              "eyJhbGciOiJFZERTQSIsImtpZCI6Im5vZGUtNyJ9.." + std::string(vector.signature));
    EXPECT_EQ(to_hex(blake3(wire)), vector.hash);
    EXPECT_EQ(wire.size(), vector.bytes);
  }
}

TEST(GoldenVectors, ids_and_hashes_are_raw_bytes_without_a_length) {  // 3
  EXPECT_EQ(hex_of(signing_bytes(sample_operation(RevokeUcan{blake3("abc")}))),
            std::string(kEnvelope) + "14" + to_hex(blake3("abc")) + "00");
  EXPECT_EQ(hex_of(signing_bytes(sample_operation(EvictArtifact{sample_id<ArtifactId>()}))),
            std::string(kEnvelope) + "11018bcfe56800aaaaaaaaaaaaaaaaaaaa00");
}

TEST(GoldenVectors, a_sanitised_payload_is_wrapped_with_its_rules_and_delegation) {
  Operation operation = sample_operation(TombstoneEvidence{sample_id<EvidenceId>(), "x"});
  operation.sanitised = SanitisedMark{{{SanitiseRule::Kind::strip_geo, 0},
                                       {SanitiseRule::Kind::truncate_content, 300},
                                       {SanitiseRule::Kind::strip_custom_metadata, 0}},
                                      blake3("abc")};
  const auto wire = encode_operation(operation);
  EXPECT_EQ(hex_of(wire), std::string(kEnvelope) +
                              "3f01018bcfe56800aaaaaaaaaaaaaaaaaaaa0178030002ac0203" +
                              to_hex(blake3("abc")) + "00");
  const auto decoded = decode_operation(wire);
  ASSERT_TRUE(decoded.ok()) << decoded.error().text();
  EXPECT_EQ(decoded.value(), operation);
}

}  // namespace
}  // namespace holdfast::mesh::operation_codec_test

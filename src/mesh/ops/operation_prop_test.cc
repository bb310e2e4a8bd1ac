// Laws of the encoding over random operations of every kind, and over damaged bytes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "mesh/ops/operation.h"
#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::operation_prop_test {
namespace {

Operation any_operation() {
  const auto payloads = sample_payloads();
  Operation operation =
      sample_operation(payloads[*rc::gen::inRange<std::size_t>(0, payloads.size())]);
  operation.timestamp.wall_ms = *rc::gen::inRange<std::uint64_t>(0, kMaxWallMs);
  operation.timestamp.logical = *rc::gen::arbitrary<std::uint32_t>();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    OpId dep;
    dep.bytes[15] = static_cast<std::byte>(i);
    dep.bytes[0] = static_cast<std::byte>(*rc::gen::inRange(0, 256));
    operation.causal_deps.push_back(dep);
  }
  if (*rc::gen::arbitrary<bool>()) {
    operation = sign_operation(operation, rfc_key());
  }
  return operation;
}

TEST(OperationLaw, decode_gives_back_what_was_encoded) {  // 6
  rc::check([] {
    const Operation operation = any_operation();
    const auto decoded = decode_operation(encode_operation(operation));
    RC_ASSERT(decoded.ok());
    RC_ASSERT(decoded.value() == operation);
  });
}

TEST(OperationLaw, accepted_bytes_are_the_only_ones_of_their_operation) {  // 6
  rc::check([] {
    auto wire = encode_operation(any_operation());
    for (int damage = *rc::gen::inRange(1, 4); damage > 0; --damage) {
      const auto at = *rc::gen::inRange<std::size_t>(0, wire.size());
      const auto value = static_cast<std::byte>(*rc::gen::inRange(0, 256));
      switch (*rc::gen::inRange(0, 3)) {
        case 0:
          wire[at] = value;
          break;
        case 1:
          wire.insert(wire.begin() + static_cast<std::ptrdiff_t>(at), value);
          break;
        default:
          wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(at));
          break;
      }
    }
    if (const auto decoded = decode_operation(wire); decoded.ok()) {
      RC_ASSERT(encode_operation(decoded.value()) == wire);
    }
  });
}

}  // namespace
}  // namespace holdfast::mesh::operation_prop_test

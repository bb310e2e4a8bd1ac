#include "lab/bench/mesh_sample.h"

#include "base/blake3.h"
#include "mesh/ops/signature.h"

namespace holdfast {

namespace {

using namespace mesh;

constexpr unsigned kMeshNodes = 9;
constexpr std::uint64_t kMeshStartMs = 1'700'000'000'000;

SigningKey key_number(unsigned number) {
  std::array<std::byte, 32> seed{};
  seed[0] = static_cast<std::byte>(number);
  seed[31] = std::byte{0x77};
  return SigningKey(std::span<const std::byte, 32>(seed));
}

template <typename T>
T id_number(std::uint64_t number) {
  T id;
  for (std::size_t i = 0; i < 8; ++i) {
    id.bytes[15 - i] = static_cast<std::byte>(number >> (8 * i));
  }
  return id;
}

DelegateUcan grant_all(const SigningKey& user, const SigningKey& node) {
  TokenSpec spec;
  spec.audience = node.public_key();
  spec.grants = {{"*", "*", {}}};
  const auto bytes = issue_token(spec, user);
  return {blake3(bytes), bytes};
}

}  // namespace

MeshSample::MeshSample() : user_(key_number(200)) {
  for (unsigned node = 0; node < kMeshNodes; ++node) {
    nodes_.push_back(key_number(node));
  }
}

JobId MeshSample::job(std::uint64_t number) { return id_number<JobId>(number + 1); }

const SigningKey& MeshSample::worker(std::uint64_t job) const {
  return nodes_[1 + job % (kMeshNodes - 1)];
}

std::vector<VerifiedOperation> MeshSample::bootstraps() const {
  std::vector<VerifiedOperation> operations;
  for (const SigningKey& node : nodes_) {
    Operation operation;
    operation.id = id_number<OpId>(~0ULL - operations.size());
    operation.timestamp = {kMeshStartMs - 1, 0, node.node_id()};
    operation.payload = grant_all(user_, node);
    operations.push_back(verified(sign_operation(operation, node), node.public_key()));
  }
  return operations;
}

Operation MeshSample::unsigned_operation(std::uint64_t index) const {
  const std::uint64_t number = index / 3;
  const std::uint64_t step = index % 3;
  const SigningKey& author = step == 0 ? owner() : worker(number);
  Operation operation;
  operation.id = id_number<OpId>(index + 1);
  operation.timestamp = {kMeshStartMs + 10 * index, 0, author.node_id()};
  if (step == 0) {
    operation.payload = ScheduleJob{job(number), "bench.job", std::vector<std::byte>(64), {}};
  } else if (step == 1) {
    operation.payload = ClaimWork{job(number), author.node_id(), 60'000};
  } else {
    operation.payload = CompleteJob{job(number), {}, {}, {}};
    operation.causal_deps = {id_number<OpId>(index)};
  }
  return operation;
}

VerifiedOperation MeshSample::operation(std::uint64_t index) const {
  const SigningKey& author = index % 3 == 0 ? owner() : worker(index / 3);
  return verified(unsigned_operation(index), author.public_key());
}

std::vector<std::byte> MeshSample::signed_bytes(std::uint64_t index) const {
  const SigningKey& author = index % 3 == 0 ? owner() : worker(index / 3);
  return encode_operation(sign_operation(unsigned_operation(index), author));
}

VerifiedOperation MeshSample::late_claim(std::uint64_t number) const {
  const SigningKey& author = worker(number + 1);
  Operation operation = unsigned_operation(3 * number + 1);
  operation.id = id_number<OpId>((1ULL << 48U) + number);
  operation.timestamp = {operation.timestamp.wall_ms - 1, 0, author.node_id()};
  operation.payload = ClaimWork{job(number), author.node_id(), 60'000};
  return verified(operation, author.public_key());
}

}  // namespace holdfast

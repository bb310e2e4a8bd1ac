// A store of the node anna, and what she and others author.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "mesh/store/mesh_store.h"
#include "tests/support/mesh_tokens.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::mesh {

using Bytes = std::vector<std::byte>;

inline Draft draft_of(Payload payload, Random& random, std::vector<OpId> deps = {}) {
  Draft draft{std::move(payload), std::move(deps), {}};
  random.fill(draft.random);
  return draft;
}

inline DelegateUcan delegation_of(const SigningKey& issuer, const TokenSpec& spec) {
  const Bytes bytes = issue_token(spec, issuer);
  return {blake3(bytes), bytes};
}

inline JobId numbered_job(unsigned number) {
  JobId job;
  job.bytes[0] = static_cast<std::byte>(number);
  job.bytes[1] = static_cast<std::byte>(number >> 8U);
  return job;
}

class MeshStoreFixture : public testing::Test {
 protected:
  static constexpr std::uint64_t kNowMs = 1'700'000'000'000;

  MeshIdentity identity() const { return {user.public_key(), anna.node_id()}; }
  void open(MeshStoreOptions options = {}) {
    store.reset();
    store = must(MeshStore::open(folder(), identity(), kNowMs, std::move(options)));
  }
  std::string folder() const { return dir.path() + "/mesh"; }
  void enroll_anna() {
    must(store->author(draft_of(delegation_of(user, spec_for(anna, {grant("*", "*")})), random),
                       anna, kNowMs));
  }
  Operation schedule(unsigned number) {
    return must(store->author(draft_of(ScheduleJob{numbered_job(number), "k", {}, {}}, random),
                              anna, kNowMs));
  }

  // The wire bytes of an operation of another node.
  Bytes wire(const SigningKey& author, std::uint64_t wall_ms, Payload payload,
             std::uint32_t logical = 0) {
    Operation operation;
    random.fill(operation.id.bytes);
    operation.timestamp = {wall_ms, logical, author.node_id()};
    operation.payload = std::move(payload);
    return encode_operation(sign_operation(operation, author));
  }
  Bytes bootstrap(const SigningKey& node, std::vector<Grant> grants) {
    return wire(node, kNowMs, delegation_of(user, spec_for(node, std::move(grants))));
  }
  IntakeResult ingest(const Bytes& bytes) {
    return must(store->ingest({.operations = {bytes}}, kNowMs)).front();
  }

  TempDir dir;
  SeededRandom random{1};
  SigningKey user = user_key();
  SigningKey anna = numbered_key(2);
  SigningKey bert = numbered_key(3);
  std::unique_ptr<MeshStore> store;
};

}  // namespace holdfast::mesh

// A small mesh for tests of the roster: an owner, two workers, and short forms for operations.
// Operations are added as verified; signatures are the business of mesh/ops.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "mesh/roster/roster.h"
#include "tests/support/mesh_tokens.h"

namespace holdfast::mesh {

class MeshTest : public testing::Test {
 protected:
  using Deps = std::vector<OpId>;

  void SetUp() override {
    delegate(owner, user, spec_for(owner, {grant("*", "*")}));
    for (const SigningKey& worker : {anna, bert}) {
      delegate(
          worker, user,
          spec_for(worker, {grant("Job", "*"), grant("Artifact", "Write"), grant("Claim", "Write"),
                            grant("Entity", "Write"), grant("Registration", "Write")}));
    }
  }

  // An operation at a moment of its own, unless a test gives the logical part.
  VerifiedOperation make(const SigningKey& author, std::uint64_t wall_ms, Payload payload,
                         Deps deps = {}, std::uint32_t logical = 0) {
    Operation operation;
    operation.id = next_id();
    operation.timestamp = {wall_ms, logical, author.node_id()};
    operation.causal_deps = std::move(deps);
    operation.payload = std::move(payload);
    return verified(operation, author.public_key());
  }
  OpId add(const VerifiedOperation& operation) {
    roster.add(operation);
    return operation.operation.id;
  }
  OpId add(const SigningKey& author, std::uint64_t wall_ms, Payload payload, Deps deps = {},
           std::uint32_t logical = 0) {
    return add(make(author, wall_ms, std::move(payload), std::move(deps), logical));
  }
  VerifiedOperation make_delegation(const SigningKey& author, const SigningKey& issuer,
                                    const TokenSpec& spec) {
    const auto bytes = issue_token(spec, issuer);
    return make(author, 0, DelegateUcan{blake3(bytes), bytes}, {}, ++delegations_);
  }
  // The token, delegated by an operation of that author at time 0.
  Token delegate(const SigningKey& author, const SigningKey& issuer, const TokenSpec& spec) {
    const VerifiedOperation operation = make_delegation(author, issuer, spec);
    add(operation);
    return *operation.token;
  }

  // The verdict on the only operation with that id.
  std::string verdict(const OpId& id) const {
    const auto views = roster.verdicts(id);
    EXPECT_EQ(views.size(), 1U);
    return views.empty() ? "" : to_text(views[0].verdict);
  }
  std::string phase(const JobId& id) const {
    const auto view = roster.job(id);
    return view.has_value() ? std::string(to_text(view->state.phase)) : "Unknown";
  }
  std::optional<NodeId> claimer(const JobId& id) const { return roster.job(id)->state.claimer; }

  static JobId job_id(unsigned number) {
    JobId id;
    id.bytes[0] = static_cast<std::byte>(number);
    return id;
  }
  OpId schedule(std::uint64_t wall_ms, std::string kind = "k") {
    return add(owner, wall_ms, ScheduleJob{job, std::move(kind), {}, {}});
  }
  ClaimWork claim_by(const SigningKey& author, std::uint64_t lease_ms = 100) const {
    return {job, author.node_id(), lease_ms};
  }
  YieldWork yield_by(const SigningKey& author) const { return {job, author.node_id(), ""}; }
  ExpireWork expiry_of(const SigningKey& holder) const { return {job, holder.node_id(), ""}; }
  CompleteJob completion() const { return {job, {}, {}, {}}; }

  OpId next_id() {
    OpId id;
    ++ids_;
    id.bytes[14] = static_cast<std::byte>(ids_ >> 8U);
    id.bytes[15] = static_cast<std::byte>(ids_);
    return id;
  }

  SigningKey user = user_key();
  SigningKey owner = numbered_key(1);
  SigningKey anna = numbered_key(2);
  SigningKey bert = numbered_key(3);
  JobId job = job_id(1);
  Roster roster{user_key().public_key()};

 private:
  unsigned ids_ = 0;
  std::uint32_t delegations_ = 0;
};

}  // namespace holdfast::mesh

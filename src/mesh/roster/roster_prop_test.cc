// Convergence: for random histories of small meshes, the roster gives the verdicts and job states
// of the oracle, whatever the order of arrival, one by one or all at once. The numbers at the
// tests are those of docs/mesh-tests.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "mesh/roster/roster.h"
#include "tests/support/mesh_histories.h"
#include "tests/support/mesh_oracle.h"

namespace holdfast::mesh::roster_prop_test {
namespace {

using History = std::vector<VerifiedOperation>;

// Every mesh has rules of its own.
struct RandomMesh {
  explicit RandomMesh(std::uint64_t seed) : maker(seed), history(maker.make()) {
    rules.inference_kinds = {"b."};
    rules.max_lease_ms = maker.draw(4) == 0 ? 1'000 : 0;
    rules.expire_authority =
        maker.draw(4) == 0 ? ExpireAuthority::enrolled : ExpireAuthority::complete;
    rules.strict_tenure = maker.draw(2) == 0;
    rules.enforce_coordinator = maker.draw(4) > 0;
  }

  [[nodiscard]] OracleResult oracle_on(const History& operations) const {
    return consult_oracle(history_user(), rules, operations);
  }
  [[nodiscard]] Roster roster() const { return Roster(history_user(), rules); }
  [[nodiscard]] Roster roster_of(const History& operations) const {
    Roster filled = roster();
    for (const VerifiedOperation& operation : operations) {
      filled.add(operation);
    }
    return filled;
  }

  HistoryMaker maker;
  History history;
  RosterRules rules;
};

// HOLDFAST_LONG=1 checks a hundred times as many histories; HOLDFAST_MESH_SEEDS=N checks N.
std::uint64_t seeds(std::uint64_t usual) {
  if (const char* wanted = std::getenv("HOLDFAST_MESH_SEEDS"); wanted != nullptr) {
    return std::strtoull(wanted, nullptr, 10);
  }
  return std::getenv("HOLDFAST_LONG") == nullptr ? usual : 100 * usual;
}

// A long run shows how far it is.
void show_progress(std::uint64_t histories) {
  if (histories > 0 && histories % 10'000 == 0) {
    std::cerr << histories << " histories are right\n";
  }
}

OracleJob plain(const JobView& view) {
  return {view.kind,
          std::string(to_text(view.state.phase)),
          view.state.claimer,
          view.state.deadline_ms,
          static_cast<int>(view.state.attempts),
          static_cast<int>(view.state.yields),
          static_cast<int>(view.state.expiries)};
}

// What differs between the roster and the oracle; empty when nothing does.
std::string difference(const Roster& roster, const History& history, const OracleResult& expected) {
  for (const VerifiedOperation& operation : history) {
    const std::string got = to_text(*roster.verdict(operation.hash));
    if (got != expected.verdicts.at(operation.hash)) {
      return describe(operation) + ": " + got + ", expected " +
             expected.verdicts.at(operation.hash);
    }
  }
  for (unsigned number = 1; number <= 2; ++number) {
    JobId job;
    job.bytes[15] = static_cast<std::byte>(number);
    const auto view = roster.job(job);
    const auto known = expected.jobs.find(job);
    if (view.has_value() != (known != expected.jobs.end()) ||
        (view.has_value() && plain(*view) != known->second)) {
      return "job " + std::to_string(number) + " is in another state";
    }
  }
  return "";
}

// The smallest history, in its order, that still fails.
std::string report(const RandomMesh& mesh, History history) {
  const auto found = [&](const History& operations) {
    return difference(mesh.roster_of(operations), operations, mesh.oracle_on(operations));
  };
  for (std::size_t i = 0; i < history.size();) {
    History smaller = history;
    smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(i));
    if (!found(smaller).empty()) {
      history = smaller;
      i = 0;
    } else {
      ++i;
    }
  }
  const Roster roster = mesh.roster_of(history);
  std::string text = found(history) + "\n";
  for (const VerifiedOperation& operation : history) {
    text += "  " + describe(operation) + ": " + to_text(*roster.verdict(operation.hash)) + "\n";
  }
  return text;
}

void shuffle(HistoryMaker& maker, History& history) {
  for (std::size_t i = history.size(); i > 1; --i) {
    std::swap(history[i - 1], history[maker.draw(static_cast<unsigned>(i))]);
  }
}

TEST(Convergence, every_order_of_arrival_gives_the_verdicts_of_the_oracle) {  // 30, 31
  for (std::uint64_t seed = 0; seed < seeds(5000); ++seed) {
    show_progress(seed);
    RandomMesh mesh(seed);
    const OracleResult expected = mesh.oracle_on(mesh.history);
    for (int order = 0; order < 20; ++order) {
      shuffle(mesh.maker, mesh.history);
      ASSERT_EQ(difference(mesh.roster_of(mesh.history), mesh.history, expected), "")
          << "seed " << seed << "\n"
          << report(mesh, mesh.history);
    }
  }
}

// Otherwise the tests of this file could pass without testing much.
TEST(Convergence, the_histories_reach_every_verdict) {
  std::set<std::string> missing = {"applied",
                                   "noop",
                                   "rejected causality_violation",
                                   "void integrity_duplicate_hlc",
                                   "void integrity_id_conflict",
                                   "deferred missing_dep",
                                   "deferred dep_void",
                                   "parked no_chain",
                                   "parked missing_proof",
                                   "deferred missing_proof",
                                   "parked chain_revoked",
                                   "parked not_admitted",
                                   "parked chain_not_yet",
                                   "parked chain_expired",
                                   "parked caveat_failed(time_range)",
                                   "parked caveat_failed(predicates)",
                                   "parked caveat_failed(source_types)",
                                   "void caveat_failed(kind_prefix)",
                                   "void caveat_failed(predicates)",
                                   "void caveat_failed(source_types)",
                                   "parked not_owner",
                                   "void not_owner",
                                   "void not_coordinator",
                                   "deferred unknown_job",
                                   "void duplicate_job",
                                   "void job_completed",
                                   "void already_claimed",
                                   "void routed_elsewhere",
                                   "void renew_after_deadline",
                                   "void not_claimed",
                                   "void not_claimer",
                                   "void stale_expire",
                                   "void lease_not_expired",
                                   "void stale_tenure",
                                   "void lease_too_long",
                                   "void audit_link_missing",
                                   "void audit_link_invalid",
                                   "rejected malformed"};
  for (std::uint64_t seed = 0; seed < 6000 && !missing.empty(); ++seed) {
    const RandomMesh mesh(seed);
    for (const auto& [hash, verdict] : mesh.oracle_on(mesh.history).verdicts) {
      missing.erase(verdict);
    }
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

TEST(Convergence, every_prefix_of_a_history_is_judged_right) {  // 31
  for (std::uint64_t seed = 0; seed < seeds(300); ++seed) {
    RandomMesh mesh(1'000'000 + seed);
    History& history = mesh.history;
    shuffle(mesh.maker, history);
    Roster roster = mesh.roster();
    for (std::size_t size = 1; size <= history.size(); ++size) {
      roster.add(history[size - 1]);
      const History prefix(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_EQ(difference(roster, prefix, mesh.oracle_on(prefix)), "") << "seed " << seed << "\n"
                                                                        << report(mesh, prefix);
    }
  }
}

TEST(Convergence, a_rebuild_at_once_and_repeats_give_the_same_state) {  // 29, 32
  for (std::uint64_t seed = 0; seed < seeds(500); ++seed) {
    RandomMesh mesh(2'000'000 + seed);
    History& history = mesh.history;
    const OracleResult expected = mesh.oracle_on(history);
    Roster rebuilt = mesh.roster();
    for (const VerifiedOperation& operation : history) {
      ASSERT_TRUE(rebuilt.insert(operation));
    }
    rebuilt.settle();
    ASSERT_EQ(difference(rebuilt, history, expected), "") << "seed " << seed;
    shuffle(mesh.maker, history);
    for (const VerifiedOperation& operation : history) {
      ASSERT_FALSE(rebuilt.add(operation));
    }
    ASSERT_EQ(rebuilt.size(), history.size());
    ASSERT_EQ(difference(rebuilt, history, expected), "") << "seed " << seed;
  }
}

TEST(Convergence, a_forgotten_operation_leaves_no_trace) {
  std::size_t removed = 0;
  for (std::uint64_t seed = 0; seed < seeds(1000); ++seed) {
    RandomMesh mesh(3'000'000 + seed);
    shuffle(mesh.maker, mesh.history);
    Roster roster = mesh.roster_of(mesh.history);
    History kept = mesh.history;
    for (int i = 0; i < 8; ++i) {
      const Digest hash =
          mesh.history[mesh.maker.draw(static_cast<unsigned>(mesh.history.size()))].hash;
      if (roster.is_removable(hash)) {
        roster.remove(hash);
        std::erase_if(kept, [&](const VerifiedOperation& one) { return one.hash == hash; });
        ++removed;
      }
    }
    ASSERT_EQ(roster.size(), kept.size());
    ASSERT_EQ(difference(roster, kept, mesh.oracle_on(kept)), "") << "seed " << seed;
    for (const VerifiedOperation& operation : mesh.history) {
      roster.add(operation);
    }
    ASSERT_EQ(difference(roster, mesh.history, mesh.oracle_on(mesh.history)), "")
        << "seed " << seed;
  }
  EXPECT_GT(removed, 100U);
}

}  // namespace
}  // namespace holdfast::mesh::roster_prop_test

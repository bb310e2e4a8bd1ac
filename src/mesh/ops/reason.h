// Why an operation has no effect: the one list of reasons, for verdicts and explanations.
#pragma once

#include <cstdint>

#include "base/fields.h"

namespace holdfast::mesh {

using holdfast::to_text;  // of enumerations, beside those of this namespace

enum class Reason : std::uint8_t {
  none,
  malformed,
  bad_signature,
  unsigned_operation,
  unknown_author,
  future_skew,
  integrity_duplicate_hlc,
  integrity_id_conflict,
  causality_violation,
  missing_dep,
  dep_void,
  // Authority, in the order in which a chain advances: the last one that a token of the author
  // reaches is reported.
  no_chain,
  missing_proof,
  chain_revoked,
  not_admitted,
  chain_not_yet,
  chain_expired,
  caveat_failed,
  not_owner,
  // State.
  not_coordinator,
  unknown_job,
  duplicate_job,
  job_completed,
  already_claimed,
  routed_elsewhere,
  renew_after_deadline,
  not_claimed,
  not_claimer,
  stale_expire,
  lease_not_expired,
  stale_tenure,
  lease_too_long,
  audit_link_missing,
  audit_link_invalid,
  // Authoring.
  clock_overflow,
};

}  // namespace holdfast::mesh

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<mesh::Reason>[] = {
    "none",
    "malformed",
    "bad_signature",
    "unsigned",
    "unknown_author",
    "future_skew",
    "integrity_duplicate_hlc",
    "integrity_id_conflict",
    "causality_violation",
    "missing_dep",
    "dep_void",
    "no_chain",
    "missing_proof",
    "chain_revoked",
    "not_admitted",
    "chain_not_yet",
    "chain_expired",
    "caveat_failed",
    "not_owner",
    "not_coordinator",
    "unknown_job",
    "duplicate_job",
    "job_completed",
    "already_claimed",
    "routed_elsewhere",
    "renew_after_deadline",
    "not_claimed",
    "not_claimer",
    "stale_expire",
    "lease_not_expired",
    "stale_tenure",
    "lease_too_long",
    "audit_link_missing",
    "audit_link_invalid",
    "clock_overflow",
};

}  // namespace holdfast

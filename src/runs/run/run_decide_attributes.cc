#include <fmt/format.h>

#include <algorithm>

#include "runs/run/run_planning.h"
#include "runs/run/search_attributes.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxReasonBytes = 256;

// The same changes in another order are the same changes.
SharedText fingerprint_of(const Payload& changes) {
  std::map<std::string_view, std::string_view> members;
  JsonSlicer slicer(changes.view());
  while (const auto member = slicer.next()) {
    members.insert_or_assign(member->name, member->value);
  }
  std::string canonical;
  for (const auto& [name, value] : members) {
    canonical += fmt::format("\"{}\":{},", name, value);
  }
  return to_hex(sha256(canonical));
}

Result<void> check_ended(const RunProjection& run, std::string_view what) {
  HOLDFAST_CHECK(check_started(run));
  if (!run.is_terminal()) {
    return refusal(run, ErrorCode::invalid_transition,
                   fmt::format("it is {}; only a run that ended can be {}", to_text(run.status()),
                               what))
        .with("status", to_text(run.status()));
  }
  return {};
}

}  // namespace

Result<RunFacts> decide_update_attributes(RunProjection& run, const Payload& changes,
                                          const SharedText& idempotency_key, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  if (idempotency_key.empty()) {
    return refusal(run, ErrorCode::invalid_argument,
                   "an update of search attributes needs an idempotency key")
        .with("field", "idempotency_key");
  }
  SearchAttributesUpdated fact;
  fact.run_id = run.run_id();
  fact.changes = changes;
  fact.fingerprint = fingerprint_of(changes);
  fact.idempotency_key = idempotency_key;
  const auto& updates = run.attribute_updates();
  if (const auto known = updates.find(idempotency_key.str()); known != updates.end()) {
    if (known->second == fact.fingerprint) {
      return RunFacts();
    }
    return refusal(run, ErrorCode::idempotency_conflict,
                   fmt::format("other search attributes were set under the key {}",
                               idempotency_key.view()))
        .with("idempotency_key", idempotency_key.view());
  }
  auto changed = with_changes(run.attributes(), changes);
  if (!changed.ok()) {
    return std::move(changed).error().with("run_id", to_string(run.run_id()));
  }
  RunDraft draft(run, nothing_around(), now);
  draft.add(std::move(fact));
  return draft.finish();
}

Result<RunFacts> decide_archive(RunProjection& run, const SharedText& reason, TimeMs now) {
  HOLDFAST_CHECK(check_ended(run, "archived"));
  if (reason.empty() || reason.view().size() > kMaxReasonBytes) {
    return refusal(run, ErrorCode::invalid_argument,
                   fmt::format("the reason has 1 to {} bytes", kMaxReasonBytes))
        .with("field", "reason");
  }
  RunDraft draft(run, nothing_around(), now);
  if (!run.archived().has_value()) {
    draft.add(RunArchived{run.run_id(), reason});
  }
  return draft.finish();
}

Result<RunFacts> decide_unarchive(RunProjection& run, TimeMs now) {
  HOLDFAST_CHECK(check_ended(run, "unarchived"));
  RunDraft draft(run, nothing_around(), now);
  if (run.archived().has_value()) {
    draft.add(RunUnarchived{run.run_id()});
  }
  return draft.finish();
}

}  // namespace holdfast

#include "mesh/ops/sanitise.h"

#include "base/text.h"

namespace holdfast::mesh {

namespace {

// At most that many bytes, without cutting a character.
std::string cut(const std::string& text, std::uint64_t max_bytes) {
  std::size_t kept = 0;
  while (kept < text.size()) {
    const std::size_t length = utf8_sequence_length(std::string_view(text).substr(kept));
    if (length == 0 || length > max_bytes - kept) {
      break;
    }
    kept += length;
  }
  return text.substr(0, kept);
}

void apply(const SanitiseRule& rule, EvidenceMetadata& metadata) {
  switch (rule.kind) {
    case SanitiseRule::Kind::strip_geo:
      metadata.geo.reset();
      return;
    case SanitiseRule::Kind::redact_participants:
      metadata.participants.clear();
      return;
    case SanitiseRule::Kind::truncate_content:
      for (auto& [key, value] : metadata.custom) {
        value = cut(value, rule.truncate_bytes);
      }
      return;
    case SanitiseRule::Kind::strip_custom_metadata:
      metadata.custom.clear();
      return;
  }
}

}  // namespace

Operation sanitise(Operation operation, const SanitisedMark& mark) {
  auto* evidence = std::get_if<IngestEvidence>(&operation.payload);
  if (evidence != nullptr && evidence->metadata.has_value()) {
    for (const SanitiseRule& rule : mark.rules) {
      apply(rule, *evidence->metadata);
    }
  }
  operation.signature.reset();
  operation.sanitised = mark;
  return operation;
}

}  // namespace holdfast::mesh

// check_operation: the rules that need no other operation.
#include <fmt/format.h>

#include <algorithm>

#include "base/blake3.h"
#include "mesh/ops/operation.h"

namespace holdfast::mesh {

namespace {

Error malformed(const Operation& operation, std::string_view what) {
  return Error(ErrorCode::invalid_argument,
               fmt::format("malformed {} {}: {}", kind_name(operation.payload.index()),
                           to_text(operation.id), what));
}

bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) {
      return true;
    }
    // U+0080 to U+009F
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      return true;
    }
  }
  return false;
}

bool is_job_kind(std::string_view kind) {
  return !kind.empty() && kind.size() <= kMaxKindBytes && !has_control_character(kind);
}

// What is wrong with the payload; empty when nothing is.
struct PayloadCheck {
  NodeId author;

  std::string_view operator()(const ScheduleJob& job) const { return check_kind(job.kind); }
  std::string_view operator()(const RouteKind& route) const { return check_kind(route.kind); }
  std::string_view operator()(const ClaimWork& claim) const {
    if (claim.claimer != author) {
      return "the claimer is not the author";
    }
    return claim.lease_duration_ms == 0 ? "the lease is 0 ms" : "";
  }
  std::string_view operator()(const YieldWork& yield) const {
    return yield.claimer != author ? "the claimer is not the author" : "";
  }
  std::string_view operator()(const CreateArtifact& artifact) const {
    if (!artifact.content_inline.has_value()) {
      return "";
    }
    if (artifact.content_inline->size() != artifact.size_bytes) {
      return "the inline content has another size than size_bytes";
    }
    return blake3(std::span<const std::byte>(*artifact.content_inline)) != artifact.content_hash
               ? "the inline content does not have the hash content_hash"
               : "";
  }
  std::string_view operator()(const DelegateUcan& delegation) const {
    return blake3(std::span<const std::byte>(delegation.ucan_bytes)) != delegation.ucan_cid
               ? "ucan_cid is not the hash of ucan_bytes"
               : "";
  }
  template <typename T>
  std::string_view operator()(const T&) const {
    return "";
  }

  static std::string_view check_kind(std::string_view kind) {
    return is_job_kind(kind)
               ? ""
               : "the job kind is empty, longer than 255 bytes or has control characters";
  }
};

// Operations that coordinate nodes are never accepted without their author's signature.
bool may_be_sanitised(const Payload& payload) {
  return std::visit(
      []<typename T>(const T&) {
        return !(std::is_same_v<T, ScheduleJob> || std::is_same_v<T, ClaimWork> ||
                 std::is_same_v<T, CompleteJob> || std::is_same_v<T, YieldWork> ||
                 std::is_same_v<T, ExpireWork> || std::is_same_v<T, UserAssert> ||
                 std::is_same_v<T, DesignateCoordinator> || std::is_same_v<T, DelegateUcan> ||
                 std::is_same_v<T, RevokeUcan> || std::is_same_v<T, RouteKind>);
      },
      payload);
}

}  // namespace

Result<void> check_operation(const Operation& operation) {
  if (operation.timestamp.wall_ms > kMaxWallMs) {
    return malformed(operation, "the wall time does not fit 48 bits");
  }
  const auto& deps = operation.causal_deps;
  if (deps.size() > kMaxCausalDeps) {
    return malformed(operation, "more than 1024 causal dependencies");
  }
  std::vector<OpId> sorted = deps;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return malformed(operation, "a causal dependency appears twice");
  }
  if (std::binary_search(sorted.begin(), sorted.end(), operation.id)) {
    return malformed(operation, "the operation depends on itself");
  }
  if (operation.sanitised.has_value() && !may_be_sanitised(operation.payload)) {
    return malformed(operation, "operations of this kind are never sanitised");
  }
  if (operation.sanitised.has_value() && operation.signature.has_value()) {
    return malformed(operation, "a sanitised operation carries no signature");
  }
  const std::string_view fault = std::visit(PayloadCheck{operation.author()}, operation.payload);
  if (!fault.empty()) {
    return malformed(operation, fault);
  }
  return {};
}

}  // namespace holdfast::mesh

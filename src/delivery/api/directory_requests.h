// The requests and responses about what a broker consists of: workspaces, members, topics, jobs
// and the broker itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/contract/max_age.h"
#include "delivery/contract/message_request.h"

namespace holdfast::delivery {

// Workspaces

struct CreateWorkspaceRequest {
  std::string name = {};
  BodyForm body_form = BodyForm::plain;
  DedupeMode dedupe_mode = DedupeMode::retention_scoped;
  std::uint32_t dedupe_retention_days = 365;
  std::uint32_t message_retention_days = 365;
  std::uint64_t rate_limit_per_window = 0;
  std::uint32_t window_seconds = 60;
  std::uint64_t max_inline_bytes = 65'536;

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.optional("body_form", self.body_form);
    v.optional("dedupe_mode", self.dedupe_mode);
    v.optional("dedupe_retention_days", self.dedupe_retention_days);
    v.optional("message_retention_days", self.message_retention_days);
    v.optional("rate_limit_per_window", self.rate_limit_per_window);
    v.optional("window_seconds", self.window_seconds);
    v.optional("max_inline_bytes", self.max_inline_bytes);
  }
};

struct WorkspaceView {
  std::string name = {};
  std::string mesh_id = {};
  BodyForm body_form = BodyForm::plain;
  DedupeMode dedupe_mode = DedupeMode::retention_scoped;
  std::uint32_t dedupe_retention_days = 0;
  std::uint32_t message_retention_days = 0;
  std::uint64_t rate_limit_per_window = 0;
  std::uint32_t window_seconds = 0;
  std::uint64_t max_inline_bytes = 0;
  TimeMs created_at = {};

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("mesh_id", self.mesh_id);
    v.required("body_form", self.body_form);
    v.required("dedupe_mode", self.dedupe_mode);
    v.required("dedupe_retention_days", self.dedupe_retention_days);
    v.required("message_retention_days", self.message_retention_days);
    v.required("rate_limit_per_window", self.rate_limit_per_window);
    v.required("window_seconds", self.window_seconds);
    v.required("max_inline_bytes", self.max_inline_bytes);
    v.required("created_at", self.created_at);
  }
};

struct WorkspaceList {
  std::vector<WorkspaceView> workspaces = {};

  static void visit(auto& self, auto& v) { v.required("workspaces", self.workspaces); }
};

struct DeletedResponse {
  std::string deleted = {};

  static void visit(auto& self, auto& v) { v.required("deleted", self.deleted); }
};

// Members

struct CreateMemberRequest {
  std::string name = {};
  std::string pubkey = {};

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.optional("pubkey", self.pubkey);
  }
};

struct JoinRequest {
  std::string invitation = {};
  std::string name = {};
  std::string pubkey = {};

  static void visit(auto& self, auto& v) {
    v.required("invitation", self.invitation);
    v.required("name", self.name);
    v.required("pubkey", self.pubkey);
  }
};

struct MemberCreated {
  std::string workspace = {};
  std::string member_id = {};
  std::string name = {};
  std::string pubkey = {};
  std::string token = {};

  static void visit(auto& self, auto& v) {
    v.required("workspace", self.workspace);
    v.required("member_id", self.member_id);
    v.required("name", self.name);
    v.required("pubkey", self.pubkey);
    v.required("token", self.token);
  }
};

struct MemberView {
  std::string member_id = {};
  std::string name = {};
  std::string pubkey = {};
  TimeMs created_at = {};
  std::optional<TimeMs> revoked_at = {};

  static void visit(auto& self, auto& v) {
    v.required("member_id", self.member_id);
    v.required("name", self.name);
    v.required("pubkey", self.pubkey);
    v.required("created_at", self.created_at);
    v.optional("revoked_at", self.revoked_at);
  }
};

struct MemberList {
  std::vector<MemberView> members = {};

  static void visit(auto& self, auto& v) { v.required("members", self.members); }
};

struct InviteRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

struct InvitationCreated {
  std::string workspace = {};
  std::string invitation = {};
  TimeMs expires_at = {};

  static void visit(auto& self, auto& v) {
    v.required("workspace", self.workspace);
    v.required("invitation", self.invitation);
    v.required("expires_at", self.expires_at);
  }
};

// Topics

struct CreateTopicRequest {
  std::string name = {};
  TopicAccess access = TopicAccess::open;
  SenderCopy sender_copy = SenderCopy::include;

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.optional("access", self.access);
    v.optional("sender_copy", self.sender_copy);
  }
};

struct SubscriptionView {
  std::string member = {};
  std::string pubkey = {};
  SubscriptionRole role = SubscriptionRole::writer;
  TimeMs joined_at = {};

  static void visit(auto& self, auto& v) {
    v.required("member", self.member);
    v.required("pubkey", self.pubkey);
    v.required("role", self.role);
    v.required("joined_at", self.joined_at);
  }
};

struct TopicView {
  std::string name = {};
  TopicAccess access = TopicAccess::open;
  SenderCopy sender_copy = SenderCopy::include;
  std::uint64_t messages = 0;
  TimeMs created_at = {};
  std::optional<TimeMs> archived_at = {};
  std::vector<SubscriptionView> subscriptions = {};

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("access", self.access);
    v.required("sender_copy", self.sender_copy);
    v.required("messages", self.messages);
    v.required("created_at", self.created_at);
    v.optional("archived_at", self.archived_at);
    v.optional("subscriptions", self.subscriptions);
  }
};

struct TopicList {
  std::vector<TopicView> topics = {};

  static void visit(auto& self, auto& v) { v.required("topics", self.topics); }
};

struct SubscribeRequest {
  std::string member = {};
  SubscriptionRole role = SubscriptionRole::writer;

  static void visit(auto& self, auto& v) {
    v.required("member", self.member);
    v.optional("role", self.role);
  }
};

// Jobs, and the broker itself

struct JobRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

struct SweepResponse {
  std::uint64_t dedupe_rows = 0;
  std::uint64_t messages = 0;

  static void visit(auto& self, auto& v) {
    v.required("dedupe_rows", self.dedupe_rows);
    v.required("messages", self.messages);
  }
};

struct OrphanCount {
  std::string mesh_id = {};
  std::string check = {};
  std::string meaning = {};
  std::uint64_t rows = 0;

  static void visit(auto& self, auto& v) {
    v.required("mesh_id", self.mesh_id);
    v.required("check", self.check);
    v.required("meaning", self.meaning);
    v.required("rows", self.rows);
  }
};

struct OrphanResponse {
  std::uint64_t total = 0;
  std::vector<OrphanCount> found = {};

  static void visit(auto& self, auto& v) {
    v.required("total", self.total);
    v.required("found", self.found);
  }
};

struct BrokerHealth {
  std::string status = {};

  static void visit(auto& self, auto& v) { v.required("status", self.status); }
};

struct BrokerReadiness {
  bool ready = false;
  std::string reason = {};

  static void visit(auto& self, auto& v) {
    v.required("ready", self.ready);
    v.optional("reason", self.reason);
  }
};

}  // namespace holdfast::delivery

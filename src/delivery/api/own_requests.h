// The requests and responses about what a member sees of its workspace, and does for itself there:
// topics, its subscriptions, other members.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "delivery/broker/broker_directory.h"

namespace holdfast::delivery {

// A topic that the member may read, or is subscribed to.
struct OwnTopicView {
  std::string name = {};
  TopicAccess access = TopicAccess::open;
  bool subscribed = false;
  std::optional<SubscriptionRole> role = {};

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("access", self.access);
    v.required("subscribed", self.subscribed);
    v.optional("role", self.role);
  }
};

struct SubscribeSelfRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

struct OwnTopicList {
  std::vector<OwnTopicView> topics = {};

  static void visit(auto& self, auto& v) { v.required("topics", self.topics); }
};

// A member as other members see it.
struct KnownMemberView {
  std::string name = {};
  std::string pubkey = {};

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("pubkey", self.pubkey);
  }
};

struct FindMembersRequest {
  std::string name = {};

  static void visit(auto& self, auto& v) { v.optional("name", self.name); }
};

struct KnownMemberList {
  std::vector<KnownMemberView> members = {};

  static void visit(auto& self, auto& v) { v.required("members", self.members); }
};

}  // namespace holdfast::delivery

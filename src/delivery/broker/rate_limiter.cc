#include "delivery/broker/rate_limiter.h"

#include <initializer_list>
#include <string_view>

namespace holdfast::delivery {

namespace {

// Each part with its length, so that no two lists of parts are the same text.
Digest hash_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += std::to_string(part.size());
    text += ':';
    text += part;
  }
  return sha256(text);
}

}  // namespace

Digest counter_key_of(const LimitedWorkspace& workspace) {
  return hash_of({"counter", workspace.mesh_id, std::to_string(workspace.window_seconds)});
}

Digest marker_key(const std::string& mesh_id, const std::string& sender_member_id,
                  const std::string& client_message_id, const Digest& fingerprint) {
  const std::string_view content(reinterpret_cast<const char*>(fingerprint.data()),
                                 fingerprint.size());
  return hash_of({"marker", mesh_id, sender_member_id, client_message_id, content});
}

std::vector<BudgetAnswer> RateLimiter::consume_each(std::span<const LimitedMessage> messages,
                                                    TimeMs now) {
  std::vector<BudgetAnswer> answers;
  answers.reserve(messages.size());
  for (const LimitedMessage& message : messages) {
    answers.push_back(consume(message.workspace, message.marker, now));
  }
  return answers;
}

}  // namespace holdfast::delivery

// How a daemon becomes a member of a workspace: with a link that can be used once. It makes a key
// pair, registers the public key, and writes the settings.
#pragma once

#include <string>

#include "apps/daemon/daemon_config.h"
#include "apps/daemon/daemon_folder.h"
#include "base/random.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct JoinOptions {
  std::string link = {};  // URL/join#SECRET
  std::string name = {};  // of the member
  std::string tls_ca = {};
};

// keypair.json.
struct KeyPair {
  std::string ed25519_public = {};  // 64 hex digits
  std::string ed25519_seed = {};

  static void visit(auto& self, auto& v) {
    v.required("ed25519_public", self.ed25519_public);
    v.required("ed25519_seed", self.ed25519_seed);
  }
};
Result<KeyPair> read_key_pair(const DaemonFolder& folder);

// already_exists: the folder belongs to a member. not_found: the invitation is not valid. The
// folder must be locked by the caller.
Result<DaemonConfig> join_workspace(const DaemonFolder& folder, const JoinOptions& options,
                                    Random& random);

// Ends the membership at the broker, and removes the settings, the token and the key; the outbox
// and the inbox stay. careful: conflict when messages wait in the outbox, and the errors of the
// broker.
enum class LeaveMode : std::uint8_t { careful, forced };
Result<void> leave_workspace(const DaemonFolder& folder, LeaveMode mode, Clock& clock,
                             Random& random);

}  // namespace holdfast::delivery

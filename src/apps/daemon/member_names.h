// MemberNames: the public keys of members by the names that programs use for them. A name is looked
// up at the broker; without a connection the last answer counts, also after a restart.
//
// Any thread; a look-up blocks its thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "apps/daemon/daemon_folder.h"
#include "apps/daemon/drain.h"
#include "base/clock.h"

namespace holdfast::delivery {

class MemberNames {
 public:
  // All must outlive it. What the folder remembers is read; a file that cannot be read counts as
  // empty.
  MemberNames(const DaemonFolder& folder, Drain& drain, Clock& clock);

  // No value: no such member, as far as is known.
  std::optional<std::string> find(const std::string& name);

 private:
  struct Known {
    std::string pubkey;
    std::int64_t looked_up_at = INT64_MIN;  // of the broker, by this process
  };

  void remember(const std::string& name, const std::string& pubkey);
  void forget(const std::string& name);
  void save();

  const DaemonFolder& folder_;
  Drain& drain_;
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // guarded by mutex_
};

}  // namespace holdfast::delivery

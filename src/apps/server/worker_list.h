// WorkerList: the workers that have called this server, for whoever wants to see them. Only a
// picture: what a worker holds is in the journal.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/shared_text.h"

namespace holdfast {

// As a worker names itself with each call: one incarnation of a process.
struct WorkerIdentity {
  std::string id;
  std::string secret;  // what its claims are derived from
  std::string name;
  std::string version;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("id", self.id);
    v.optional("secret", self.secret);
    v.optional("name", self.name);
    v.optional("version", self.version);
  }
};

struct KnownWorker {
  std::string id;
  std::string name;
  std::string version;
  std::vector<SharedText> queues;
  std::vector<SharedText> handlers;
  TimeMs first_seen_at;
  TimeMs last_seen_at;
  std::size_t polling = 0;  // calls that wait for work now
};

class WorkerList {
 public:
  void seen(const WorkerIdentity& worker, TimeMs now);
  // It asks for work of this kind.
  void polls(const WorkerIdentity& worker, const std::vector<SharedText>& queues,
             const std::vector<SharedText>& handlers, TimeMs now);
  void polled(const std::string& id, TimeMs now);

  // By id. Those that were not here for long are forgotten.
  std::vector<KnownWorker> all(TimeMs now);

 private:
  KnownWorker& entry(const WorkerIdentity& worker, TimeMs now);
  void forget_old(TimeMs now);

  std::mutex mutex_;
  std::map<std::string, KnownWorker, std::less<>> workers_;
};

}  // namespace holdfast

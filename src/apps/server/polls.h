// Polls: claim requests of remote workers. A poll requests several attempts at once. It ends with
// the first commit that claims some of them, or when its time is up.
//
// Claim ids and tokens are derived from the secret of the worker and the id of the request, so that
// a worker that received no response can repeat the request at any server and find its claims.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/server/alarm.h"
#include "apps/server/worker_list.h"
#include "runs/engine/engine_loop.h"

namespace holdfast {

struct PollRequest {
  WorkerIdentity worker;
  std::string id;  // chosen by the worker; a repeated request has the same id
  std::shared_ptr<const Skills> skills;
  std::size_t max = 1;
};

// The claimant of the i-th attempt of a request.
Applicant derived_applicant(const PollRequest& request, std::size_t index);
// The claims that the request obtained and still holds.
Result<std::vector<Assignment>> find_given(Turn& turn, const PollRequest& request);

class Poll : public std::enable_shared_from_this<Poll> {
 public:
  using Done = std::function<void(Result<std::vector<Assignment>>)>;

  Poll(Loop& loop, PollRequest request, Done done);

  // The claim request of the poll; to be submitted once, with the commands that belong to it.
  ClaimRequestPtr request();
  // Withdraws the request: the poll is answered with what was claimed by then. May come before the
  // request.
  void end();
  // Calls it when the poll has ended, immediately if it has.
  void when_ended(std::function<void()> then);

 private:
  void assigned(std::vector<Result<Assignment>> results);
  void finish(Result<std::vector<Assignment>> outcome);

  Loop& loop_;
  const PollRequest poll_;
  std::mutex mutex_;
  Done done_;
  ClaimRequestPtr request_;  // until it is answered
  bool ended_ = false;
  std::vector<std::function<void()>> afterwards_;
};
using PollPtr = std::shared_ptr<Poll>;

// The polls that wait now.
class Polls {
 public:
  // No queues: all of them. Equal skills are shared, so that such workers wait in one queue of the
  // loop.
  std::shared_ptr<const Skills> skills(std::vector<SharedText> queues,
                                       std::vector<SharedText> handlers);

  // By worker and request id. False after end_all(): the caller must end the poll after it
  // submitted its requests.
  [[nodiscard]] bool add(const PollRequest& request, const PollPtr& poll);
  PollPtr find(const PollRequest& request);
  void remove(const PollRequest& request, const PollPtr& poll);
  // Ends all polls; later ones must not wait.
  void end_all();
  [[nodiscard]] std::size_t waiting();

 private:
  std::mutex mutex_;
  std::map<std::string, PollPtr> polls_;
  std::map<std::string, std::weak_ptr<const Skills>> skills_;
  bool closed_ = false;
};

}  // namespace holdfast

// Polls: workers elsewhere that wait for attempts. A poll asks the loop for several at once and is
// answered when there is one, with all that came in the same commit; or when its time is over.
//
// Claims are derived from the secret of the worker and the name of its request, so that a worker
// that got no answer finds out what it was given, from whichever server it asks again.
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

// Who claims, of the i-th attempt of a request.
Applicant derived_applicant(const PollRequest& request, std::size_t index);
// What the request was given and still holds. For questions to the loop.
Result<std::vector<Assignment>> find_given(Turn& turn, const PollRequest& request);

class Poll : public std::enable_shared_from_this<Poll> {
 public:
  using Done = std::function<void(Result<std::vector<Assignment>>)>;

  Poll(Loop& loop, PollRequest request, Done done);

  // The claim request of the poll; to be submitted once, with whatever belongs to it.
  ClaimRequestPtr request();
  // Withdraws the request: the poll is answered with what was claimed by then. May come before the
  // request.
  void end();
  // Calls it when the poll has been answered, at once if it has.
  void when_over(std::function<void()> then);

 private:
  void assigned(std::vector<Result<Assignment>> results);
  void finish(Result<std::vector<Assignment>> outcome);

  Loop& loop_;
  const PollRequest poll_;
  std::mutex mutex_;
  Done done_;
  ClaimRequestPtr request_;  // until it is answered
  bool over_ = false;
  std::vector<std::function<void()>> afterwards_;
};
using PollPtr = std::shared_ptr<Poll>;

// All that wait now.
class Polls {
 public:
  // Workers that can do the same wait in one line of the loop.
  std::shared_ptr<const Skills> skills(std::vector<SharedText> queues,
                                       std::vector<SharedText> handlers);

  // Under the name of worker and request. False when nobody is to wait any more: end it, once the
  // loop has its requests.
  [[nodiscard]] bool add(const PollRequest& request, const PollPtr& poll);
  PollPtr find(const PollRequest& request);
  void remove(const PollRequest& request, const PollPtr& poll);
  // Everybody is answered, now and from now on.
  void end_all();
  [[nodiscard]] std::size_t waiting();

 private:
  std::mutex mutex_;
  std::map<std::string, PollPtr> polls_;
  std::map<std::string, std::weak_ptr<const Skills>> skills_;
  bool closed_ = false;
};

}  // namespace holdfast

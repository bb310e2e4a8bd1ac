#include "apps/server/polls.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/hash.h"

namespace holdfast {

namespace {

constexpr std::size_t kClaimIdBytes = 16;

// The lengths of the parts make the result unambiguous.
std::string derived(std::string_view purpose, const std::vector<std::string_view>& parts,
                    std::size_t bytes) {
  std::string text(purpose);
  for (const std::string_view part : parts) {
    text += ':' + std::to_string(part.size()) + ':';
    text += part;
  }
  const Digest digest = sha256(text);
  return to_base64url({digest.data(), bytes});
}

std::string key_of(const PollRequest& request) { return request.worker.id + "\n" + request.id; }

}  // namespace

Applicant derived_applicant(const PollRequest& request, std::size_t index) {
  const std::string number = std::to_string(index);
  const std::string claim_id = derived(
      "claim", {request.worker.secret, request.worker.id, request.id, number}, kClaimIdBytes);
  const std::string token = derived("token", {request.worker.secret, claim_id}, Digest{}.size());
  return Applicant{Claimant{claim_id, sha256(token), request.worker.id, request.skills->handlers},
                   token};
}

Result<std::vector<Assignment>> find_given(Turn& turn, const PollRequest& request) {
  std::map<SharedText, SharedText> tokens;  // by claim id
  for (std::size_t i = 0; i < request.max; ++i) {
    const Applicant applicant = derived_applicant(request, i);
    tokens.emplace(applicant.claimant.claim_id, applicant.token);
  }
  std::vector<Assignment> found;
  for (const auto& [name, queue] : turn.state().queues().all()) {
    queue->advance(turn.now());
    for (const Attempt* attempt : queue->held()) {
      const auto token = attempt->claim->owner_id.view() == request.worker.id
                             ? tokens.find(attempt->claim->claim_id)
                             : tokens.end();
      if (token != tokens.end()) {
        HOLDFAST_TRY(Assignment given, assignment_of(turn, *attempt, name));
        given.token = token->second;
        found.push_back(std::move(given));
      }
    }
  }
  return found;
}

Poll::Poll(Loop& loop, PollRequest request, Done done)
    : loop_(loop),
      poll_(std::move(request)),
      done_(std::move(done)),
      request_(std::make_shared<ClaimRequest>()) {
  request_->skills = poll_.skills;
  for (std::size_t i = 0; i < poll_.max; ++i) {
    request_->applicants.push_back(derived_applicant(poll_, i));
  }
}

ClaimRequestPtr Poll::request() {
  const std::scoped_lock lock(mutex_);
  ClaimRequestPtr request = request_;
  if (request == nullptr) {
    // The poll has ended; the loop ignores the request.
    request = std::make_shared<ClaimRequest>();
    request->state = ClaimRequest::State::withdrawn;
    return request;
  }
  request->assigned = [self = shared_from_this()](std::vector<Result<Assignment>> results) {
    self->assigned(std::move(results));
  };
  return request;
}

void Poll::assigned(std::vector<Result<Assignment>> results) {
  Result<std::vector<Assignment>> outcome = std::vector<Assignment>();
  std::optional<Error> failure;
  for (Result<Assignment>& result : results) {
    if (result.ok()) {
      outcome.value().push_back(std::move(result).value());
    } else {
      failure = result.error();
    }
  }
  if (outcome.value().empty() && failure.has_value()) {
    outcome = *failure;
  }
  finish(std::move(outcome));
}

void Poll::end() {
  const std::scoped_lock lock(mutex_);
  if (request_ != nullptr) {
    loop_.submit(WithdrawClaim{request_, [self = shared_from_this()](std::size_t withdrawn) {
                                 if (withdrawn > 0) {
                                   self->finish(std::vector<Assignment>());
                                 }
                               }});
  }
}

void Poll::when_ended(std::function<void()> then) {
  {
    const std::scoped_lock lock(mutex_);
    if (!ended_) {
      afterwards_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void Poll::finish(Result<std::vector<Assignment>> outcome) {
  std::unique_lock lock(mutex_);
  if (std::exchange(ended_, true)) {
    return;
  }
  request_.reset();  // its functions refer to this poll
  const Done done = std::exchange(done_, nullptr);
  const auto afterwards = std::exchange(afterwards_, {});
  lock.unlock();
  done(std::move(outcome));
  for (const auto& then : afterwards) {
    then();
  }
}

std::shared_ptr<const Skills> Polls::skills(std::vector<SharedText> queues,
                                            std::vector<SharedText> handlers) {
  std::sort(handlers.begin(), handlers.end());
  std::string key;
  for (const SharedText& queue : queues) {
    key += queue.str() + '\n';
  }
  key += '\n';
  for (const SharedText& handler : handlers) {
    key += handler.str() + '\n';
  }
  const std::scoped_lock lock(mutex_);
  std::weak_ptr<const Skills>& known = skills_[key];
  auto shared = known.lock();
  if (shared == nullptr) {
    shared = std::make_shared<const Skills>(
        Skills{queues.empty() ? ServedQueues() : std::move(queues), std::move(handlers)});
    known = shared;
    if (skills_.size() > 1000) {
      std::erase_if(skills_, [](const auto& entry) { return entry.second.expired(); });
    }
  }
  return shared;
}

bool Polls::add(const PollRequest& request, const PollPtr& poll) {
  const std::scoped_lock lock(mutex_);
  polls_[key_of(request)] = poll;
  return !closed_;
}

PollPtr Polls::find(const PollRequest& request) {
  const std::scoped_lock lock(mutex_);
  const auto known = polls_.find(key_of(request));
  return known == polls_.end() ? nullptr : known->second;
}

void Polls::remove(const PollRequest& request, const PollPtr& poll) {
  const std::scoped_lock lock(mutex_);
  const auto known = polls_.find(key_of(request));
  if (known != polls_.end() && known->second == poll) {
    polls_.erase(known);
  }
}

void Polls::end_all() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  const auto polls = polls_;
  lock.unlock();
  for (const auto& [key, poll] : polls) {
    poll->end();
  }
}

std::size_t Polls::waiting() {
  const std::scoped_lock lock(mutex_);
  return polls_.size();
}

}  // namespace holdfast

#include "apps/broker/push_hub.h"

#include <algorithm>
#include <array>
#include <utility>

#include "apps/broker/broker_call.h"
#include "apps/broker/delivery_polls.h"
#include "base/encoding.h"
#include "delivery/broker/delivery_rows.h"
#include "delivery/broker/push_rows.h"
#include "delivery/contract/hello.h"
#include "holdfast/assert.h"
#include "net/http_writer.h"
#include "net/ws_frames.h"

namespace holdfast::delivery {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFullCheck{10'000};  // after the last commit
constexpr milliseconds kRetry{100};
constexpr milliseconds kNotifyEvery{100};  // changes of presence are sent together
constexpr std::size_t kMembersAtOnce = 500;
constexpr int kUpgradeRequired = 426;
// Ids of rows that other brokers have not committed yet may be below those that were seen.
constexpr std::uint64_t kOverlap = 1000;

std::string_view frame_type(PresenceChange change) {
  switch (change) {
    case PresenceChange::joined:
      return "peer_join";
    case PresenceChange::left:
      return "peer_leave";
    case PresenceChange::updated:
      return "peer_update";
  }
  return "";
}

PresentMember present(const LookupResult& caller, const std::string& name) {
  return {caller.workspace.mesh_id, caller.member_id, caller.pubkey, name};
}

}  // namespace

PushHub::PushHub(BrokerService& service, ServerLog& log, PushOptions options, Run run)
    : service_(service),
      log_(log),
      options_(std::move(options)),
      rules_{options_.origins},
      run_(std::move(run)),
      presence_(options_.presence_lease_ms) {}

Result<void> PushHub::start() {
  return thread_.start([this] { loop(); });
}

void PushHub::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void PushHub::open(const net::ExchangePtr& exchange) {
  const net::Refused refused = net::check_ws_request(exchange->request(), rules_);
  if (refused.has_value()) {
    ++counters_.refused;
    net::Response response = net::problem(*refused);
    if (refused->status == kUpgradeRequired) {
      response.headers = net::upgrade_headers();
    }
    exchange->reply(std::move(response));
    return;
  }
  ++counters_.opened;
  std::array<std::byte, 16> nonce{};
  service_.random.fill(nonce);
  auto session = std::make_shared<PushSession>(*this, to_hex(nonce));
  session->begin(exchange->upgrade(session));
  {
    const std::lock_guard lock(mutex_);
    greeting_.emplace_back(steady_clock::now() + options_.hello, session);
  }
  wake_.notify_all();
}

void PushHub::commits_changed() {
  {
    const std::lock_guard lock(mutex_);
    if (online_.empty()) {
      behind_ = true;
      return;
    }
    changed_ = true;
  }
  wake_.notify_all();
}

void PushHub::check_all() {
  {
    const std::lock_guard lock(mutex_);
    check_all_ = !online_.empty();
  }
  wake_.notify_all();
}

void PushHub::check_member(const std::string& member_id) {
  Lock lock(mutex_);
  wake(lock, {member_id});
}

void PushHub::run(SessionPtr session) {
  if (!run_([session] { session->work(); }).ok()) {
    const std::lock_guard lock(mutex_);
    deferred_.push_back(std::move(session));
    retry_at_ = std::min(retry_at_, steady_clock::now() + kRetry);
  }
}

void PushHub::retry(SessionPtr session) {
  {
    const std::lock_guard lock(mutex_);
    failed_.push_back(std::move(session));
    retry_at_ = std::min(retry_at_, steady_clock::now() + kRetry);
  }
  wake_.notify_all();
}

bool PushHub::join(const SessionPtr& session, const PresentMember& member) {
  Sessions others;
  {
    const std::lock_guard lock(mutex_);
    if (session->ended()) {
      return true;  // left() came first
    }
    greeting_.remove_if([&](const auto& one) { return one.second == session; });
    const auto [first, last] = online_.equal_range(member.member_id);
    std::for_each(first, last, [&](const auto& one) { others.push_back(one.second); });
    if (!others.empty() && options_.policy == ConnectionPolicy::prefer_oldest) {
      ++counters_.concurrent;
    } else {
      online_.emplace(member.member_id, session);
      session->set_joined();
      presence_.connected(member, service_.clock.now());
      notify_at_ = std::min(notify_at_, steady_clock::now() + kNotifyEvery);
    }
  }
  wake_.notify_all();
  if (others.empty()) {
    return true;
  }
  log_.write(LogLevel::warning, "member_concurrent_connection",
             {{"mesh", session->caller().workspace.slug},
              {"member", member.name},
              {"policy", std::string(to_text(options_.policy))}});
  if (options_.policy == ConnectionPolicy::prefer_oldest) {
    return false;
  }
  ++counters_.concurrent;
  if (options_.policy == ConnectionPolicy::prefer_newest) {
    for (const SessionPtr& other : others) {
      other->end(push_close::kReplaced, "replaced_by_newer_connection");
    }
  }
  return true;
}

void PushHub::left(const SessionPtr& session, std::uint16_t code) {
  {
    const std::lock_guard lock(mutex_);
    if (!session->joined()) {
      greeting_.remove_if([&](const auto& one) { return one.second == session; });
      return;
    }
    const LookupResult& caller = session->caller();
    const auto [first, last] = online_.equal_range(caller.member_id);
    const auto found =
        std::find_if(first, last, [&](const auto& one) { return one.second == session; });
    if (found == last) {
      return;
    }
    online_.erase(found);
    const auto how =
        code == net::ws_code::kLost ? PresenceBoard::Ended::lost : PresenceBoard::Ended::properly;
    presence_.disconnected(caller.workspace.mesh_id, caller.member_id, how, service_.clock.now());
    notify_at_ = std::min(notify_at_, steady_clock::now() + kNotifyEvery);
  }
  wake_.notify_all();
}

void PushHub::lanes_freed(const PushSession& session) {
  const std::string& member_id = session.caller().member_id;
  Sessions others;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = online_.equal_range(member_id);
    std::for_each(first, last, [&](const auto& one) {
      if (one.second.get() != &session) {
        others.push_back(one.second);
      }
    });
  }
  for (const SessionPtr& other : others) {
    other->wake();
  }
  if (service_.polls != nullptr && service_.polls->waiting() > 0) {
    service_.store.commits().notify();
  }
}

void PushHub::member_revoked(const std::string& member_id) {
  Sessions sessions;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = online_.equal_range(member_id);
    std::for_each(first, last, [&](const auto& one) { sessions.push_back(one.second); });
  }
  for (const SessionPtr& session : sessions) {
    session->end(push_close::kRevoked, "member_revoked");
  }
}

void PushHub::heard(const LookupResult& caller) {
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    known = presence_.knows(caller.workspace.mesh_id, caller.member_id);
    if (known) {
      presence_.heard(present(caller, ""), service_.clock.now());
      return;
    }
  }
  std::string name;
  const auto read = service_.store.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(name, read_display_name(session, caller.member_id));
    return {};
  });
  if (read.ok()) {
    const std::lock_guard lock(mutex_);
    presence_.heard(present(caller, name), service_.clock.now());
    notify_at_ = std::min(notify_at_, steady_clock::now() + kNotifyEvery);
    wake_.notify_all();
  }
}

ProfileView PushHub::set_profile(const LookupResult& caller, const std::string& name,
                                 const ProfileRequest& request) {
  const std::lock_guard lock(mutex_);
  ProfileView view = presence_.set_profile(present(caller, name), request, service_.clock.now());
  notify_at_ = std::min(notify_at_, steady_clock::now() + kNotifyEvery);
  wake_.notify_all();
  return view;
}

std::vector<PeerView> PushHub::peers(const LookupResult& caller) const {
  const std::lock_guard lock(mutex_);
  return presence_.peers(caller.workspace.mesh_id);
}

std::size_t PushHub::connections() const {
  const std::lock_guard lock(mutex_);
  return online_.size();
}

PushHub::Time PushHub::next_due(Time now) const {
  Time due = std::min({full_check_, notify_at_, retry_at_});
  if (!greeting_.empty()) {
    due = std::min(due, greeting_.front().first);
  }
  if (const auto expiry = presence_.next_expiry()) {
    const std::int64_t left = expiry->value - service_.clock.now().value;
    due = std::min(due, now + milliseconds(std::clamp<std::int64_t>(left, 1, 60'000)));
  }
  return due;
}

void PushHub::loop() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (check_store(lock)) {
      continue;
    }
    serve_timers(lock, steady_clock::now());
    if (stopping_ || changed_ || check_all_) {
      continue;
    }
    const Time due = next_due(steady_clock::now());
    if (due == Time::max()) {
      wake_.wait(lock);
    } else {
      wake_.wait_until(lock, due);
    }
  }
}

bool PushHub::check_store(Lock& lock) {
  if (steady_clock::now() >= full_check_) {
    check_all_ = true;
    full_check_ = Time::max();
  }
  if (std::exchange(changed_, false)) {
    if (full_check_ == Time::max()) {
      full_check_ = steady_clock::now() + kFullCheck;
    }
    check_new(lock);
    return true;
  }
  if (std::exchange(check_all_, false)) {
    check_everyone(lock);
    return true;
  }
  return false;
}

// Ids can be used again after rows were removed: then everyone is looked at.
void PushHub::check_new(Lock& lock) {
  const bool behind = std::exchange(behind_, false);
  std::uint64_t last = last_id_;
  lock.unlock();
  std::vector<std::string> members;
  bool all = behind;
  const auto read = service_.store.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const std::uint64_t newest, newest_delivery(session));
    all = all || newest < last;
    if (all) {
      last = newest;
      return {};
    }
    const bool overlaps = session.dialect() == SqlDialect::postgres && last > kOverlap;
    std::uint64_t after = overlaps ? last - kOverlap : last;
    for (bool more = true; more;) {
      HOLDFAST_TRY(NewRecipients found, find_new_recipients(session, after));
      after = found.last_id;
      more = found.more;
      members.insert(members.end(), found.member_ids.begin(), found.member_ids.end());
    }
    last = std::max(last, after);
    return {};
  });
  lock.lock();
  last_id_ = last;
  check_all_ = check_all_ || all;
  if (!read.ok()) {
    behind_ = true;  // until the full check
    return;
  }
  wake(lock, members);
}

// When the store cannot be read, the sessions find out themselves.
void PushHub::check_everyone(Lock& lock) {
  std::vector<std::string> members;
  for (const auto& one : online_) {
    if (members.empty() || members.back() != one.first) {
      members.push_back(one.first);
    }
  }
  lock.unlock();
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin < members.size(); begin += kMembersAtOnce) {
    const std::size_t end = std::min(begin + kMembersAtOnce, members.size());
    const std::vector<std::string> some(members.begin() + static_cast<std::ptrdiff_t>(begin),
                                        members.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<bool> have(some.size(), true);
    static_cast<void>(service_.store.read([&](SqlSession& session) -> Result<void> {
      HOLDFAST_TRY(have, have_claimable(session, some, service_.clock.now()));
      return {};
    }));
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (have[i]) {
        found.push_back(some[i]);
      }
    }
  }
  lock.lock();
  wake(lock, found);
}

void PushHub::wake(Lock& lock, const std::vector<std::string>& member_ids) {
  Sessions sessions;
  for (const std::string& member_id : member_ids) {
    const auto [first, last] = online_.equal_range(member_id);
    std::for_each(first, last, [&](const auto& one) { sessions.push_back(one.second); });
  }
  lock.unlock();
  for (const SessionPtr& session : sessions) {
    session->wake();
  }
  lock.lock();
}

void PushHub::serve_timers(Lock& lock, Time now) {
  Sessions late;
  while (!greeting_.empty() && greeting_.front().first <= now) {
    late.push_back(greeting_.front().second);
    greeting_.pop_front();
  }
  Sessions deferred;
  Sessions failed;
  if (now >= retry_at_) {
    retry_at_ = Time::max();
    deferred = std::exchange(deferred_, {});
    failed = std::exchange(failed_, {});
  }
  presence_.expire(service_.clock.now());
  const bool notify = now >= notify_at_ || (presence_.has_events() && notify_at_ == Time::max());
  lock.unlock();
  for (const SessionPtr& session : late) {
    ++counters_.refused;
    session->end(push_close::kHelloTimeout, "hello_timeout");
  }
  for (SessionPtr& session : deferred) {
    run(std::move(session));
  }
  for (const SessionPtr& session : failed) {
    session->wake();
  }
  lock.lock();
  if (notify) {
    notify_presence(lock);
  }
}

// Successive changes of the same kind are one frame.
void PushHub::send_events(const std::vector<PresenceEvent>& events, std::string_view mesh_id,
                          const Sessions& sessions) {
  PeersFrame frame;
  const auto flush = [&] {
    if (frame.peers.empty()) {
      return;
    }
    const auto json = to_json(frame);
    HOLDFAST_ASSERT(json.ok());
    for (const SessionPtr& session : sessions) {
      session->send(json.value().view());
    }
    frame.peers.clear();
  };
  for (const PresenceEvent& event : events) {
    if (event.mesh_id != mesh_id) {
      continue;
    }
    if (frame.type != frame_type(event.change)) {
      flush();
      frame.type = frame_type(event.change);
    }
    frame.peers.push_back(event.peer);
  }
  flush();
}

// To every session of the workspace that wants them.
void PushHub::notify_presence(Lock& lock) {
  notify_at_ = Time::max();
  const std::vector<PresenceEvent> events = presence_.take_events();
  if (events.empty()) {
    return;
  }
  std::map<std::string, Sessions> listeners;
  for (const auto& [member_id, session] : online_) {
    if (session->wants_presence()) {
      listeners[session->caller().workspace.mesh_id].push_back(session);
    }
  }
  lock.unlock();
  for (const auto& listener : listeners) {
    send_events(events, listener.first, listener.second);
  }
  lock.lock();
}

}  // namespace holdfast::delivery

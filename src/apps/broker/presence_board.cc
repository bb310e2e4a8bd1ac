#include "apps/broker/presence_board.h"

#include <algorithm>
#include <utility>

#include "holdfast/assert.h"

namespace holdfast::delivery {

void PresenceBoard::note(const Key& key, const Peer& peer, PresenceChange change) {
  if (peer.visible) {
    events_.push_back({key.first, change, peer.view});
  }
}

// Only peers without a connection have a lease that can end.
void PresenceBoard::renew(const Key& key, Peer& peer, TimeMs until) {
  leases_.erase({peer.lease_until.value, key});
  peer.lease_until = until;
  if (peer.view.connections == 0) {
    leases_.insert({until.value, key});
  }
}

PresenceBoard::Peer& PresenceBoard::touch(const PresentMember& member, TimeMs now) {
  const Key key{member.mesh_id, member.member_id};
  const auto [at, is_new] = peers_.try_emplace(key);
  Peer& peer = at->second;
  if (is_new) {
    peer.view.pubkey = member.pubkey;
    peer.view.name = member.name;
    peer.view.since = now;
  }
  renew(key, peer, TimeMs{now.value + lease_ms_});
  if (is_new) {
    note(key, peer, PresenceChange::joined);
  }
  return peer;
}

void PresenceBoard::connected(const PresentMember& member, TimeMs now) {
  Peer& peer = touch(member, now);
  ++peer.view.connections;
  leases_.erase({peer.lease_until.value, Key{member.mesh_id, member.member_id}});
}

void PresenceBoard::disconnected(std::string_view mesh_id, std::string_view member_id, Ended ended,
                                 TimeMs now) {
  const Key key{std::string(mesh_id), std::string(member_id)};
  const auto found = peers_.find(key);
  if (found == peers_.end()) {
    return;
  }
  Peer& peer = found->second;
  HOLDFAST_ASSERT(peer.view.connections > 0);
  if (--peer.view.connections > 0) {
    return;
  }
  if (ended == Ended::properly) {
    end(key);
  } else {
    renew(key, peer, TimeMs{now.value + lease_ms_});
  }
}

void PresenceBoard::heard(const PresentMember& member, TimeMs now) { touch(member, now); }

bool PresenceBoard::knows(std::string_view mesh_id, std::string_view member_id) const {
  return peers_.contains(Key{std::string(mesh_id), std::string(member_id)});
}

ProfileView PresenceBoard::set_profile(const PresentMember& member, const ProfileRequest& request,
                                       TimeMs now) {
  const Key key{member.mesh_id, member.member_id};
  Peer& peer = touch(member, now);
  const bool was_visible = peer.visible;
  const PeerView before = peer.view;
  peer.view.status = request.status.value_or(peer.view.status);
  peer.view.summary = request.summary.value_or(peer.view.summary);
  if (was_visible && !request.visible.value_or(true)) {
    note(key, peer, PresenceChange::left);
  }
  peer.visible = request.visible.value_or(peer.visible);
  if (!was_visible && peer.visible) {
    note(key, peer, PresenceChange::joined);
  } else if (before.status != peer.view.status || before.summary != peer.view.summary) {
    note(key, peer, PresenceChange::updated);
  }
  return {peer.view.status, peer.view.summary, peer.visible};
}

void PresenceBoard::end(const Key& key) {
  const auto found = peers_.find(key);
  HOLDFAST_ASSERT(found != peers_.end());
  leases_.erase({found->second.lease_until.value, key});
  note(key, found->second, PresenceChange::left);
  peers_.erase(found);
}

void PresenceBoard::expire(TimeMs now) {
  while (!leases_.empty() && leases_.begin()->first <= now.value) {
    const Key key = leases_.begin()->second;
    end(key);
  }
}

std::optional<TimeMs> PresenceBoard::next_expiry() const {
  return leases_.empty() ? std::nullopt : std::optional(TimeMs{leases_.begin()->first});
}

std::vector<PeerView> PresenceBoard::peers(std::string_view mesh_id) const {
  std::vector<PeerView> found;
  for (auto at = peers_.lower_bound(Key{std::string(mesh_id), ""});
       at != peers_.end() && at->first.first == mesh_id; ++at) {
    if (at->second.visible) {
      found.push_back(at->second.view);
    }
  }
  std::sort(found.begin(), found.end(), [](const PeerView& left, const PeerView& right) {
    return std::tie(left.name, left.pubkey) < std::tie(right.name, right.pubkey);
  });
  return found;
}

std::vector<PresenceEvent> PresenceBoard::take_events() { return std::exchange(events_, {}); }

}  // namespace holdfast::delivery

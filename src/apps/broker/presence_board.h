// PresenceBoard: which members are present: connected, or heard of within the presence lease. It
// knows the connections of this broker process only, and forgets everything with it.
//
// A connection that is closed properly ends the presence of its member at once; one that is lost
// leaves it until the lease ends, so that a reconnect changes nothing. Not thread-safe; no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "delivery/api/delivery_requests.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct PresentMember {
  std::string mesh_id;
  std::string member_id;
  std::string pubkey;
  std::string name;
};

enum class PresenceChange : std::uint8_t { joined, left, updated };

// What the other members of the workspace are notified of.
struct PresenceEvent {
  std::string mesh_id;
  PresenceChange change = PresenceChange::joined;
  PeerView peer;
};

class PresenceBoard {
 public:
  explicit PresenceBoard(std::int64_t lease_ms) : lease_ms_(lease_ms) {}

  void connected(const PresentMember& member, TimeMs now);
  enum class Ended : std::uint8_t { properly, lost };
  void disconnected(std::string_view mesh_id, std::string_view member_id, Ended ended, TimeMs now);
  // By another sign of life, such as a request.
  void heard(const PresentMember& member, TimeMs now);
  // Whether heard() knows the member without its name and key.
  [[nodiscard]] bool knows(std::string_view mesh_id, std::string_view member_id) const;
  // Also a sign of life. The profile lasts as long as the presence.
  ProfileView set_profile(const PresentMember& member, const ProfileRequest& request, TimeMs now);

  // Ends what has not been heard of for the lease.
  void expire(TimeMs now);
  [[nodiscard]] std::optional<TimeMs> next_expiry() const;

  // Visible ones, in the order of their names.
  [[nodiscard]] std::vector<PeerView> peers(std::string_view mesh_id) const;
  // Since the last call, in their order.
  std::vector<PresenceEvent> take_events();
  [[nodiscard]] bool has_events() const { return !events_.empty(); }

 private:
  using Key = std::pair<std::string, std::string>;  // workspace, member
  struct Peer {
    PeerView view;
    bool visible = true;
    TimeMs lease_until;
  };
  using Peers = std::map<Key, Peer, std::less<>>;

  Peer& touch(const PresentMember& member, TimeMs now);
  void renew(const Key& key, Peer& peer, TimeMs until);
  void end(const Key& key);
  void note(const Key& key, const Peer& peer, PresenceChange change);

  std::int64_t lease_ms_;
  Peers peers_;
  std::set<std::pair<std::int64_t, Key>> leases_;  // of peers without a connection
  std::vector<PresenceEvent> events_;
};

}  // namespace holdfast::delivery

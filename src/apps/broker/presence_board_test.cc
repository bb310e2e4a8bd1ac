#include "apps/broker/presence_board.h"

#include <gtest/gtest.h>

namespace holdfast::delivery::presence_board_test {
namespace {

constexpr std::int64_t kLease = 90'000;
const PresentMember kAnn{"mesh", "1", "key-ann", "ann"};
const PresentMember kBen{"mesh", "2", "key-ben", "ben"};
const PresentMember kOther{"other", "3", "key-dan", "dan"};

class Presence : public ::testing::Test {
 protected:
  // "ann joined, ben left"
  std::string events() {
    std::string text;
    for (const PresenceEvent& event : board.take_events()) {
      text += text.empty() ? "" : ", ";
      text += event.peer.name;
      text += event.change == PresenceChange::joined ? " joined"
              : event.change == PresenceChange::left ? " left"
                                                     : " updated";
    }
    return text;
  }
  std::string peers(std::string_view mesh = "mesh") {
    std::string text;
    for (const PeerView& peer : board.peers(mesh)) {
      text += peer.name + std::to_string(peer.connections) + " ";
    }
    return text;
  }
  PresenceBoard board{kLease};
};

TEST_F(Presence, R_15_a_member_is_present_while_it_is_connected) {
  board.connected(kAnn, TimeMs{0});
  board.connected(kBen, TimeMs{0});
  board.connected(kBen, TimeMs{5});
  board.connected(kOther, TimeMs{0});
  EXPECT_EQ(events(), "ann joined, ben joined, dan joined");
  EXPECT_EQ(peers(), "ann1 ben2 ");
  EXPECT_EQ(peers("other"), "dan1 ");
  EXPECT_EQ(board.next_expiry(), std::nullopt);
  board.expire(TimeMs{10 * kLease});
  board.disconnected("mesh", "2", PresenceBoard::Ended::properly, TimeMs{10 * kLease});
  EXPECT_EQ(peers(), "ann1 ben1 ");
  board.disconnected("mesh", "2", PresenceBoard::Ended::properly, TimeMs{10 * kLease});
  EXPECT_EQ(events(), "ben left");
  EXPECT_EQ(peers(), "ann1 ");
}

TEST_F(Presence, R_15_a_lost_connection_ends_with_its_lease_of_90_seconds) {
  board.connected(kAnn, TimeMs{0});
  board.connected(kBen, TimeMs{0});
  events();
  board.disconnected("mesh", "1", PresenceBoard::Ended::lost, TimeMs{1000});
  board.disconnected("mesh", "2", PresenceBoard::Ended::lost, TimeMs{1000});
  EXPECT_EQ(peers(), "ann0 ben0 ");
  EXPECT_EQ(board.next_expiry()->value, 1000 + kLease);
  board.connected(kBen, TimeMs{50'000});  // a reconnect changes nothing
  board.expire(TimeMs{999 + kLease});
  EXPECT_EQ(events(), "");
  board.expire(TimeMs{1000 + kLease});
  EXPECT_EQ(events(), "ann left");
  EXPECT_EQ(peers(), "ben1 ");
  EXPECT_EQ(board.next_expiry(), std::nullopt);
}

TEST_F(Presence, R_15_requests_keep_a_member_present) {
  EXPECT_FALSE(board.knows("mesh", "1"));
  board.heard(kAnn, TimeMs{0});
  EXPECT_TRUE(board.knows("mesh", "1"));
  board.heard(kAnn, TimeMs{80'000});
  board.expire(TimeMs{kLease});
  EXPECT_EQ(peers(), "ann0 ");
  EXPECT_EQ(events(), "ann joined");
  board.expire(TimeMs{80'000 + kLease});
  EXPECT_EQ(events(), "ann left");
}

TEST_F(Presence, R_15_a_profile_is_shown_until_the_member_hides_itself) {
  EXPECT_TRUE(board.set_profile(kAnn, {"busy", "tests", std::nullopt}, TimeMs{0}).visible);
  EXPECT_EQ(events(), "ann joined, ann updated");
  EXPECT_EQ(board.peers("mesh").at(0).status, "busy");
  EXPECT_EQ(board.set_profile(kAnn, {std::nullopt, "code", std::nullopt}, TimeMs{0}).status,
            "busy");
  EXPECT_EQ(events(), "ann updated");
  board.set_profile(kAnn, {std::nullopt, std::nullopt, false}, TimeMs{0});
  EXPECT_EQ(events(), "ann left");
  EXPECT_EQ(peers(), "");
  board.set_profile(kAnn, {"away", std::nullopt, std::nullopt}, TimeMs{0});
  EXPECT_EQ(events(), "");
  board.set_profile(kAnn, {std::nullopt, std::nullopt, true}, TimeMs{0});
  EXPECT_EQ(events(), "ann joined");
  EXPECT_EQ(board.peers("mesh").at(0).status, "away");
}

}  // namespace
}  // namespace holdfast::delivery::presence_board_test

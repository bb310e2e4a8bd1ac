#include "net/ws_frames.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::net::ws_frames_test {
namespace {

using namespace std::string_literals;

struct Outcome {
  std::vector<WsEvent> events;
  std::uint16_t fault = 0;
};

Outcome parse(std::string_view bytes, WsPeer peer, std::size_t piece = SIZE_MAX,
              std::size_t limit = 1000) {
  WsParser parser(peer, limit);
  Outcome outcome;
  while (!bytes.empty() && parser.state() != WsParser::State::failed) {
    const std::size_t used = parser.take(bytes.substr(0, piece));
    EXPECT_LE(used, bytes.size());
    bytes.remove_prefix(used);
    if (parser.state() == WsParser::State::event) {
      outcome.events.push_back(parser.take_event());
    }
  }
  if (parser.state() == WsParser::State::failed) {
    outcome.fault = parser.fault().code;
    EXPECT_FALSE(parser.fault().reason.empty());
  }
  return outcome;
}

// However the bytes are cut.
Outcome parse_every_way(std::string_view bytes, WsPeer peer, std::size_t limit = 1000) {
  Outcome whole = parse(bytes, peer, SIZE_MAX, limit);
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 7U}) {
    const Outcome cut = parse(bytes, peer, piece, limit);
    EXPECT_EQ(cut.fault, whole.fault);
    EXPECT_EQ(cut.events.size(), whole.events.size());
    for (std::size_t i = 0; i < std::min(cut.events.size(), whole.events.size()); ++i) {
      EXPECT_EQ(cut.events[i].kind, whole.events[i].kind);
      EXPECT_EQ(cut.events[i].data, whole.events[i].data);
      EXPECT_EQ(cut.events[i].code, whole.events[i].code);
    }
  }
  return whole;
}

constexpr WsMask kMask{0x37, 0xfa, 0x21, 0x3d};

std::string masked(std::string frame) {
  // A frame as a server writes it, as a client would: for payloads of at most 125 bytes.
  const std::string payload = frame.substr(2);
  frame.resize(2);
  frame[1] = static_cast<char>(static_cast<unsigned char>(frame[1]) | 0x80U);
  frame.append(reinterpret_cast<const char*>(kMask.data()), kMask.size());
  for (std::size_t i = 0; i < payload.size(); ++i) {
    frame.push_back(static_cast<char>(static_cast<unsigned char>(payload[i]) ^ kMask.at(i % 4)));
  }
  return frame;
}

// RFC 6455 section 5.7.
TEST(WsFrames, examples_of_the_rfc) {
  const auto hello = parse_every_way("\x81\x05Hello"s, WsPeer::server);
  ASSERT_EQ(hello.events.size(), 1U);
  EXPECT_EQ(hello.events[0].kind, WsOpcode::text);
  EXPECT_EQ(hello.events[0].data, "Hello");

  const std::string client = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s;
  const auto from_client = parse_every_way(client, WsPeer::client);
  ASSERT_EQ(from_client.events.size(), 1U);
  EXPECT_EQ(from_client.events[0].data, "Hello");
  EXPECT_EQ(ws_frame(WsOpcode::text, "Hello", kMask), client);

  const auto fragments = parse_every_way("\x01\x03Hel\x80\x02lo"s, WsPeer::server);
  ASSERT_EQ(fragments.events.size(), 1U);
  EXPECT_EQ(fragments.events[0].data, "Hello");

  const auto ping = parse_every_way("\x89\x05Hello"s, WsPeer::server);
  ASSERT_EQ(ping.events.size(), 1U);
  EXPECT_EQ(ping.events[0].kind, WsOpcode::ping);
  EXPECT_EQ(ping.events[0].data, "Hello");
  EXPECT_EQ(ws_frame(WsOpcode::pong, "Hello", kMask),
            "\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s);

  const std::string half(256, 'x');
  EXPECT_EQ(ws_frame(WsOpcode::binary, half), "\x82\x7e\x01\x00"s + half);
  const std::string whole(65536, 'x');
  EXPECT_EQ(ws_frame(WsOpcode::binary, whole), "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s + whole);
  const auto large = parse(ws_frame(WsOpcode::binary, whole), WsPeer::server, 1000, 65536);
  ASSERT_EQ(large.events.size(), 1U);
  EXPECT_EQ(large.events[0].kind, WsOpcode::binary);
  EXPECT_EQ(large.events[0].data, whole);
}

TEST(WsFrames, control_frames_come_between_fragments) {
  const auto seen =
      parse_every_way("\x01\x03Hel\x89\x01!\x00\x00\x80\x02lo\x88\x02\x03\xe8"s, WsPeer::server);
  ASSERT_EQ(seen.events.size(), 3U);
  EXPECT_EQ(seen.events[0].kind, WsOpcode::ping);
  EXPECT_EQ(seen.events[0].data, "!");
  EXPECT_EQ(seen.events[1].data, "Hello");
  EXPECT_EQ(seen.events[2].kind, WsOpcode::close);
  EXPECT_EQ(seen.events[2].code, ws_code::kNormal);
}

TEST(WsFrames, what_the_rfc_forbids_is_refused) {
  const auto fault = [](const std::string& bytes) {
    const Outcome outcome = parse_every_way(bytes, WsPeer::server);
    EXPECT_TRUE(outcome.events.empty());
    return outcome.fault;
  };
  for (const char first : {'\xC1', '\xA1', '\x91'}) {
    EXPECT_EQ(fault(std::string(1, first) + "\x00"s), 1002) << "a reserved bit";
  }
  for (const int opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    EXPECT_EQ(fault(std::string(1, static_cast<char>(0x80 | opcode)) + "\x00"s), 1002) << opcode;
  }
  EXPECT_EQ(fault("\x09\x00"s), 1002) << "a fragmented control frame";
  EXPECT_EQ(fault("\x89\x7e\x00\x7e"s + std::string(126, 'x')), 1002) << "a long control frame";
  EXPECT_EQ(fault("\x80\x01x"s), 1002) << "a continuation of nothing";
  EXPECT_EQ(fault("\x01\x01x\x81\x01y"s), 1002) << "a message inside another";
  EXPECT_EQ(fault("\x81\x7e\x00\x7d"s + std::string(125, 'x')), 1002) << "a length in two bytes";
  EXPECT_EQ(fault("\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff"s), 1002) << "a length in eight";
  EXPECT_EQ(fault("\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00"s), 1002) << "a negative length";
  EXPECT_EQ(fault("\x88\x01\x03"s), 1002) << "half a code";
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535}) {
    std::string frame = "\x88\x02"s;
    frame.push_back(static_cast<char>(code >> 8));
    frame.push_back(static_cast<char>(code & 0xFF));
    EXPECT_EQ(fault(frame), 1002) << code;
    EXPECT_FALSE(is_ws_close_code(static_cast<std::uint16_t>(code))) << code;
  }
  for (const std::uint16_t code : std::initializer_list<std::uint16_t>{
           1000, 1001, 1002, 1003, 1007, 1011, 1013, 3000, 4003, 4999}) {
    EXPECT_TRUE(is_ws_close_code(code)) << code;
  }
}

TEST(WsFrames, clients_mask_and_servers_do_not) {
  EXPECT_EQ(parse_every_way("\x81\x05Hello"s, WsPeer::client).fault, 1002);
  EXPECT_EQ(parse_every_way(masked("\x81\x05Hello"s), WsPeer::server).fault, 1002);
  EXPECT_EQ(parse_every_way(masked("\x81\x05Hello"s), WsPeer::client).events.at(0).data, "Hello");
  EXPECT_EQ(parse_every_way(masked("\x81\x00"s), WsPeer::client).events.at(0).data, "");
}

TEST(WsFrames, a_declared_length_beyond_the_limit_is_refused_before_its_bytes) {
  EXPECT_EQ(parse_every_way("\x81\x7f\x00\x00\x00\x00\x7f\xff\xff\xff"s, WsPeer::server).fault,
            ws_code::kTooBig);
  // Also of the fragments together.
  EXPECT_EQ(parse_every_way("\x01\x02xx\x00\x02xx\x80\x02"s, WsPeer::server, 5).fault,
            ws_code::kTooBig);
  EXPECT_EQ(parse_every_way("\x01\x02xx\x00\x02xx\x80\x01x"s, WsPeer::server, 5).events.size(), 1U);
}

TEST(WsFrames, text_must_be_utf8_across_fragments) {
  const auto outcome_of = [](const std::string& text, std::size_t cut) {
    const std::string frames = ws_frame(WsOpcode::text, text.substr(0, cut));
    std::string first = frames;
    first[0] = '\x01';
    std::string last = ws_frame(WsOpcode::text, text.substr(cut));
    last[0] = '\x80';
    return parse_every_way(first + last, WsPeer::server);
  };
  for (const std::string& text :
       {"\xce\xba\xe1\xbd\xb9"s, "\xf4\x8f\xbf\xbf"s, "\xef\xbf\xbf"s, "\xed\x9f\xbf"s, "\0"s}) {
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      EXPECT_EQ(outcome_of(text, cut).events.at(0).data, text);
    }
  }
  for (const std::string& text :
       {"\xed\xa0\x80"s, "\xf4\x90\x80\x80"s, "\xc0\x80"s, "\xe0\x9f\xbf"s, "\xf0\x8f\xbf\xbf"s,
        "\x80"s, "\xff"s, "\xe1\xbd"s, "\xc3\x28"s, "\xf8\x88\x80\x80\x80"s}) {
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      EXPECT_EQ(outcome_of(text, cut).fault, ws_code::kInvalidText);
    }
  }
  // Binary messages and pings may hold anything; the reason of a close frame may not.
  EXPECT_EQ(parse_every_way("\x82\x01\xff"s, WsPeer::server).events.size(), 1U);
  EXPECT_EQ(parse_every_way("\x89\x01\xff"s, WsPeer::server).events.size(), 1U);
  EXPECT_EQ(parse_every_way("\x88\x03\x03\xe8\xff"s, WsPeer::server).fault, ws_code::kInvalidText);
  // The first byte that cannot be right is enough.
  WsParser parser(WsPeer::server, 1000);
  parser.take("\x81\x0a\xff"s);
  EXPECT_EQ(parser.state(), WsParser::State::failed);
}

TEST(WsFrames, a_close_frame_holds_its_reason_up_to_a_whole_character) {
  std::string reason;
  for (int i = 0; i < 62; ++i) {
    reason += "\xc3\xa4";
  }
  const std::string payload = ws_close_payload(4003, reason);
  EXPECT_EQ(payload.size(), 124U);
  const auto seen = parse_every_way(ws_frame(WsOpcode::close, payload), WsPeer::server);
  ASSERT_EQ(seen.events.size(), 1U);
  EXPECT_EQ(seen.events[0].code, 4003);
  EXPECT_EQ(seen.events[0].data, reason.substr(0, 122));
  EXPECT_EQ(parse_every_way("\x88\x00"s, WsPeer::server).events.at(0).code, ws_code::kNoCode);
}

}  // namespace
}  // namespace holdfast::net::ws_frames_test

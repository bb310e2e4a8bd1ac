// Canonical JSON, ids, envelopes and their fingerprints, requests. The fingerprints below were
// computed by another program: they are what clients in other languages must get.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/jcs.h"
#include "delivery/contract/message_id.h"
#include "delivery/contract/message_request.h"
#include "delivery/contract/rejection.h"
#include "tests/support/must.h"

namespace holdfast::delivery::fingerprint_test {
namespace {

template <typename T>
std::string rejection_name(const Result<T>& result) {
  const auto rejection = result.ok() ? std::nullopt : rejection_of(result.error());
  return rejection.has_value() ? std::string(rejection_info(*rejection).name) : "none";
}

TEST(Jcs, numbers_are_written_as_ecmascript_prints_them) {
  const std::vector<std::pair<std::uint64_t, std::string>> samples{
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0x433fffffffffffff, "9007199254740991"},
      {0xc33fffffffffffff, "-9007199254740991"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& [bits, text] : samples) {
    EXPECT_EQ(must(jcs(fmt::format("{:.17e}", std::bit_cast<double>(bits)))), text);
  }
  EXPECT_EQ(must(jcs("[1e0, 1.0, 10, 0.1, -0, 9007199254740991]")),
            "[1,1,10,0.1,0,9007199254740991]");
}

TEST(Jcs, names_are_ordered_by_utf_16_code_units_and_strings_have_the_fewest_escapes) {
  EXPECT_EQ(
      must(jcs(R"({"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7})")),
      "{\"\\r\":2,\"1\":4,\"\xC2\x80\":6,\"\xC3\xB6\":7,\"\xE2\x82\xAC\":1,"
      "\"\xF0\x9F\x98\x80\":5,\"\xEF\xAC\xB3\":3}");
  EXPECT_EQ(must(jcs(R"("\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/\b\f\u007f")")),
            "\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\f\x7F\"");
  EXPECT_EQ(must(jcs(" { \"b\" : [ true , null ] , \"a\" : { } } ")),
            R"({"a":{},"b":[true,null]})");
}

TEST(Jcs, H_06_what_implementations_read_differently_is_refused) {
  EXPECT_EQ(code_of(jcs(R"({"a":1,"\u0061":2})")), "invalid_json");
  EXPECT_EQ(code_of(jcs(R"("\ud800")")), "invalid_json");
  EXPECT_EQ(code_of(jcs(R"({"\udc00":1})")), "invalid_json");
  EXPECT_EQ(code_of(jcs("9007199254740992")), "invalid_json");
  EXPECT_EQ(code_of(jcs("-9007199254740992")), "invalid_json");
  EXPECT_EQ(code_of(jcs("1e400")), "invalid_json");
  // Their canonical form would be an integer that is refused.
  for (const char* const text :
       {"9007199254740992.0", "9.007199254740992e15", "-9007199254740992e0", "4.001e17",
        "295147905179352830000.0", "9.99e20"}) {
    EXPECT_EQ(code_of(jcs(text)), "invalid_json") << text;
  }
  EXPECT_EQ(must(jcs(must(jcs("[1e21,-1e21]")))), "[1e+21,-1e+21]");
  EXPECT_EQ(code_of(jcs("{")), "invalid_json");
  const std::string deep(kMaxJcsDepth, '[');
  EXPECT_TRUE(jcs(deep + std::string(kMaxJcsDepth, ']')).ok());
  EXPECT_EQ(code_of(jcs("[" + deep + std::string(kMaxJcsDepth + 1, ']'))), "invalid_json");
}

TEST(ClientMessageIds, IPC_08_ids_outside_the_syntax_are_rejected) {
  const std::string longest(kMaxClientMessageIdBytes, 'x');
  for (const std::string& text : {std::string("a"), std::string("A-z.0_9:~"), longest}) {
    EXPECT_EQ(must(ClientMessageId::parse(text)).text(), text);
  }
  for (const std::string& text :
       {std::string(), std::string(" a"), std::string("a "), std::string("a/b"), longest + "x",
        std::string("\xC3\xA4"), std::string("a\0b", 3), std::string("\"a\"")}) {
    EXPECT_EQ(rejection_name(ClientMessageId::parse(text)), "invalid_idempotency_key") << text;
  }
}

TEST(ClientMessageIds, IPC_06_the_header_counts_before_the_body_and_they_may_not_differ) {
  EXPECT_FALSE(must(choose_client_message_id(std::nullopt, std::nullopt)).has_value());
  EXPECT_EQ(must(choose_client_message_id("h-1", std::nullopt))->text(), "h-1");
  EXPECT_EQ(must(choose_client_message_id("\"h-1\"", std::nullopt))->text(), "h-1");
  EXPECT_EQ(must(choose_client_message_id(std::nullopt, "b-1"))->text(), "b-1");
  EXPECT_EQ(must(choose_client_message_id("\"same\"", "same"))->text(), "same");
  EXPECT_EQ(rejection_name(choose_client_message_id("h-1", "b-1")), "idempotency_key_conflict");
  EXPECT_EQ(rejection_name(choose_client_message_id("\"", std::nullopt)),
            "invalid_idempotency_key");
  EXPECT_EQ(rejection_name(choose_client_message_id("", "b-1")), "invalid_idempotency_key");
  EXPECT_EQ(rejection_name(choose_client_message_id("h-1", "")), "invalid_idempotency_key");
}

TEST(Ulids, the_text_holds_all_128_bits) {
  for (const std::string text :
       {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "00000000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}) {
    EXPECT_EQ(must(Ulid::parse(text)).text(), text);
  }
  for (const std::string text :
       {"8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVV",
        "01ARZ3NDEKTSV4RRFFQ69G5FAU", "01arz3ndektsv4rrffq69g5fav", ""}) {
    EXPECT_EQ(code_of(Ulid::parse(text)), "invalid_argument") << text;
  }
}

TEST(Ulids, IPC_07_those_of_one_sequence_rise_also_when_time_stands_still_or_runs_backwards) {
  UlidSequence sequence;
  std::array<std::byte, 10> entropy{};
  entropy.fill(std::byte{0xFF});
  const Ulid first = sequence.next(TimeMs{1'700'000'000'000}, entropy);
  EXPECT_EQ(first.text(), "01HF7YAT00ZZZZZZZZZZZZZZZZ");
  Ulid last = first;
  for (const std::int64_t now : {1'700'000'000'000, 1'600'000'000'000, 1'700'000'000'000}) {
    const Ulid next = sequence.next(TimeMs{now}, entropy);
    EXPECT_LT(last, next);
    EXPECT_LT(last.text(), next.text());
    last = next;
  }
  EXPECT_LT(last, sequence.next(TimeMs{1'700'000'000'005}, entropy));
  EXPECT_EQ(must(Ulid::parse(first.text())), first);
}

Envelope a1() {
  return Envelope{.destination = {DestinationKind::topic, "alerts"},
                  .reply_to = {},
                  .meta = {},
                  .body = "hello"};
}

std::string fingerprint_hex(const Envelope& envelope) { return to_hex(fingerprint_of(envelope)); }

TEST(Fingerprints, IPC_32_the_vectors) {
  EXPECT_EQ(fingerprint_hex(a1()),
            "732ac0065588670239d605eb525efd30389dcb985216d01cad4169dbcaf3dd79");
  Envelope a2 = a1();
  a2.priority = Priority::now;
  EXPECT_EQ(fingerprint_hex(a2),
            "dcf5997bdfd7a4929678141c508b2c9c1b8d59ac8670567bda0dacbd7a1b22f9");
  Envelope a3 = a1();
  a3.body = "";
  EXPECT_EQ(fingerprint_hex(a3),
            "918f3562252489b2d9e38c094299811627269daae79ea23ef8610bd83d5a42d1");
  Envelope a4 = a1();
  a4.destination = {DestinationKind::dm, std::string(64, 'a')};
  EXPECT_EQ(fingerprint_hex(a4),
            "91cf7d3e750eb3e83be3f8e5c9ce97d7db3d79e8313b8b961ddc926a2a2ac5dc");
  Envelope a5 = a1();
  a5.destination = {DestinationKind::queue, "jobs"};
  a5.priority = Priority::low;
  EXPECT_EQ(fingerprint_hex(a5),
            "c796fcb2fdedbf5ac3ede77711bc0369216918c32f2bc6536fffb0e85d20c543");
  Envelope a6 = a1();
  a6.meta = must(canonical_meta(R"({"z":1, "a":2})"));
  EXPECT_EQ(fingerprint_hex(a6),
            "a260d3672a8c951b611f89440786ea97f25086520005e043bb8c5963d718a379");
  Envelope a7 = a1();
  a7.meta = must(canonical_meta(R"({"x":[true,null,1E-1],"s":"\u20ac","n":1000e18})"));
  a7.body = "h\xC3\xA9llo";
  EXPECT_EQ(fingerprint_hex(a7),
            "e9b91fbcb63ac8182dd84fc9d9a1de90551162608b89e97412467006d354b1cd");
  Envelope a8 = a1();
  a8.reply_to = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  EXPECT_EQ(fingerprint_hex(a8),
            "a8b1a4be4bb6936ce448498ebe35d057fea9fe2bd6854ed633662da6246d8a34");
  Envelope a9 = a1();
  a9.version = 2;
  EXPECT_EQ(fingerprint_hex(a9),
            "5de318e93fa2c9d70d337ed8e33c108703af8ff57eada601c85379f91df164fb");
  EXPECT_NE(fingerprint_hex(a1()),
            "19e516b0e82c5317c1278f950c2f5e4aebca4e862386bf2bf27af050bce3c558");
  EXPECT_EQ(fingerprint_prefix(fingerprint_of(a1())), "732ac00655886702");
}

TEST(Fingerprints, IPC_29_order_in_meta_does_not_matter_and_no_meta_null_and_empty_are_equal) {
  EXPECT_EQ(must(canonical_meta(R"({"b":1,"a":{"d":2,"c":3}})")), R"({"a":{"c":3,"d":2},"b":1})");
  for (const char* nothing : {"", "null", "{}", " { } "}) {
    EXPECT_EQ(must(canonical_meta(nothing)), "") << nothing;
  }
  for (const char* wrong : {"[]", "1", "\"a\"", "{", R"({"a":1,"a":2})"}) {
    EXPECT_EQ(rejection_name(canonical_meta(wrong)), "invalid_request") << wrong;
  }
}

TEST(Fingerprints, IPC_31_every_part_of_the_envelope_changes_it) {
  std::vector<Envelope> all(8, a1());
  all[1].destination.ref = "alerts2";
  all[2].destination = {DestinationKind::queue, "alerts"};
  all[3].reply_to = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  all[4].priority = Priority::low;
  all[5].meta = must(canonical_meta(R"({"a":1})"));
  all[6].meta = must(canonical_meta(R"({"a":2})"));
  all[7].body = "hellp";
  std::set<std::string> seen;
  for (const Envelope& envelope : all) {
    seen.insert(fingerprint_hex(envelope));
  }
  EXPECT_EQ(seen.size(), all.size());
}

TEST(Envelopes, IPC_09_destinations_and_reply_to_without_control_characters_or_zero_bytes) {
  const std::string key(64, 'a');
  for (const Destination& good :
       {Destination{DestinationKind::topic, "alerts"},
        Destination{DestinationKind::queue, "jobs.low-1"}, Destination{DestinationKind::dm, key}}) {
    EXPECT_TRUE(check_destination(good).ok()) << good.ref;
  }
  for (const Destination& bad :
       {Destination{DestinationKind::topic, ""}, Destination{DestinationKind::topic, "a\nb"},
        Destination{DestinationKind::topic, std::string("a\0b", 3)},
        Destination{DestinationKind::queue, "a b"}, Destination{DestinationKind::dm, "ann"},
        Destination{DestinationKind::dm, std::string(64, 'A')},
        Destination{DestinationKind::dm, key + "a"}}) {
    EXPECT_EQ(rejection_name(check_destination(bad)), "invalid_request") << bad.ref;
  }
  Envelope envelope = a1();
  envelope.reply_to = "01ARZ3NDEKTSV4RRFFQ69G5FA\n";
  EXPECT_EQ(rejection_name(check_envelope(envelope)), "invalid_request");
}

std::string request_json(const std::string& more = "", const std::string& body = "hello",
                         const std::string& fingerprint = fingerprint_hex(a1())) {
  return fmt::format(R"({{"mesh":"team","client_message_id":"m-1","request_fingerprint":"{}",)"
                     R"("envelope_version":1,"destination":{{"kind":"topic","ref":"alerts"}},)"
                     R"("body":"{}"{}}})",
                     fingerprint, body, more);
}

TEST(Requests, IPC_30_a_request_without_priority_means_next_and_becomes_the_message) {
  const auto request = must(parse_message_request(request_json(R"(,"mentions":["ann"])")));
  const Message message = must(check_message(request, BodyForm::plain));
  EXPECT_EQ(message.id.text(), "m-1");
  EXPECT_EQ(message.envelope.priority, Priority::next);
  EXPECT_EQ(message.fingerprint, fingerprint_of(a1()));
  EXPECT_EQ(message.mentions, std::vector<std::string>{"ann"});
  EXPECT_TRUE(check_message(must(parse_message_request(request_json(R"(,"priority":"next")"))),
                            BodyForm::plain)
                  .ok());
}

TEST(Requests, BR_01_what_is_not_a_valid_request_is_rejected_by_name) {
  const std::vector<std::pair<std::string, std::string>> parsing{
      {"{", "invalid_request"},
      {"[]", "invalid_request"},
      {"{}", "invalid_request"},
      {request_json(R"(,"mesh":"other")"), "invalid_request"},
      {request_json(R"(,"prioritty":"now")"), "invalid_request"},
      {request_json(R"(,"priority":"urgent")"), "invalid_request"},
      {request_json(R"(,"mentions":"ann")"), "invalid_request"},
      {request_json(R"(,"attempt":-1)"), "invalid_request"},
      {request_json("", "\xFF"), "invalid_request"},
      {request_json("", "hello", "abc"), "invalid_request"},
  };
  for (const auto& [json, name] : parsing) {
    EXPECT_EQ(rejection_name(parse_message_request(json)), name) << json;
  }
  std::string version = request_json();
  version.replace(version.find("version\":1"), 10, "version\":2");
  EXPECT_EQ(rejection_name(parse_message_request(version)), "unsupported_version");
  std::string nested = request_json();
  nested.replace(nested.find("\"ref\""), 5, "\"reff\":1,\"ref\"");
  EXPECT_EQ(rejection_name(parse_message_request(nested)), "invalid_request");

  const std::vector<std::pair<std::string, std::string>> checking{
      {R"(,"meta":[1])", "invalid_request"},
      {R"(,"meta":{"n":9007199254740993})", "invalid_request"},
      {R"(,"reply_to_id":"yesterday")", "invalid_request"},
      {R"(,"mentions":[""])", "invalid_request"},
      {R"(,"mentions":["a\u0000b"])", "invalid_request"},
  };
  for (const auto& [more, name] : checking) {
    EXPECT_EQ(rejection_name(
                  check_message(must(parse_message_request(request_json(more))), BodyForm::plain)),
              name)
        << more;
  }
}

TEST(Requests, TX_09_more_than_16_mentions_are_rejected) {
  std::string list = R"("ann")";
  for (std::size_t i = 1; i < kMaxMentions; ++i) {
    list += R"(,"ann")";
  }
  const auto with = [](const std::string& mentions) {
    return must(parse_message_request(request_json(",\"mentions\":[" + mentions + "]")));
  };
  EXPECT_TRUE(check_message(with(list), BodyForm::plain).ok());
  EXPECT_EQ(rejection_name(check_message(with(list + R"(,"ben")"), BodyForm::plain)),
            "invalid_request");
}

TEST(Requests, BR_13_a_fingerprint_that_does_not_fit_the_envelope_is_drift) {
  const auto request = must(parse_message_request(request_json("", "other")));
  const auto checked = check_message(request, BodyForm::plain);
  EXPECT_EQ(rejection_name(checked), "canonical_form_drift");
  EXPECT_EQ(checked.error().field("broker_fingerprint_prefix").size(), 16U);
}

TEST(Requests, H_07_the_fingerprint_of_the_wire_covers_the_sealed_bytes) {
  const std::string sealed("\x01\x00\xFF seal", 8);
  Envelope envelope = a1();
  envelope.body = sealed;
  const auto request = must(parse_message_request(
      request_json("", to_base64url(as_bytes(sealed)), fingerprint_hex(envelope))));
  EXPECT_EQ(must(check_message(request, BodyForm::sealed)).envelope.body, sealed);
  EXPECT_EQ(rejection_name(check_message(request, BodyForm::plain)), "canonical_form_drift");
  EXPECT_EQ(rejection_name(check_message(must(parse_message_request(request_json("", "a="))),
                                         BodyForm::sealed)),
            "invalid_request");
}

}  // namespace
}  // namespace holdfast::delivery::fingerprint_test

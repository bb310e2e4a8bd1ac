// Receivers on WebSockets of brokers in this process, on both stores: one that does not read, ones
// that lose their connection, and brokers that share a database.
#include <gtest/gtest.h>

#include "apps/broker/broker_server.h"
#include "base/clock.h"
#include "base/json_value.h"
#include "net/http_client.h"
#include "tests/support/broker_fixture.h"
#include "tests/support/ws_peer.h"

namespace holdfast::delivery::broker_receivers_test {
namespace {

using net::WsEvent;
using net::WsOpcode;
using net::WsPeerClient;
using std::chrono::milliseconds;

constexpr std::string_view kNegotiation = R"({"type":"feature_negotiation_request"})";

class BrokerReceivers : public BrokerFixture {
 protected:
  using Server = std::unique_ptr<BrokerServer>;

  void SetUp() override {
    BrokerFixture::SetUp();
    broker_.reset();
    store_.reset();
    limiter_.reset();
  }

  Server serve(const std::string& limits, milliseconds send = milliseconds(30'000)) {
    BrokerHostOptions options;
    options.store = GetParam() == StoreKind::sqlite ? "sqlite:" + folder_.file("broker.db")
                                                    : cluster().url(postgres_url().schema);
    options.limiter = "memory:" + folder_.file(limits);
    options.brokers = BrokerCount::single;
    net::Options http;
    http.listen = {"127.0.0.1:0"};
    http.limits.send = send;
    return must(BrokerServer::start(options, http, system_, secrets_, log_));
  }

  // The status of the answer.
  static int send_message(const Server& server, const MessageRequest& message) {
    net::HttpOptions options;
    options.token = "token-ann";
    const auto client = must(net::HttpClient::create(server->urls().at(0), options));
    const std::string body(must(to_json(message)).view());
    return client
        ->send({.method = "POST",
                .target = "/v1/messages",
                .body = body,
                .content_type = "application/json"})
        .status;
  }

  // Whether the metrics have the line.
  static bool server_counts(const Server& server, const std::string& line) {
    const auto client = must(net::HttpClient::create(server->urls().at(0), {.strict = false}));
    return client->send({.target = "/metrics"}).body.find("\n" + line + "\n") != std::string::npos;
  }

  // A member that has said hello and negotiated.
  static WsPeerClient receiver(const Server& server, const std::string& name,
                               int receive_buffer_bytes = 0) {
    WsPeerClient peer(server->urls().at(0), "/v1/ws", receive_buffer_bytes);
    EXPECT_TRUE(peer.opened());
    EXPECT_EQ(type_of(peer.text()), "challenge");
    EXPECT_TRUE(peer.send(R"({"type":"hello","mesh":"team","token":"token-)" + name + "\"}"));
    EXPECT_EQ(type_of(peer.text()), "hello_ack");
    EXPECT_TRUE(peer.send(kNegotiation));
    EXPECT_EQ(type_of(peer.text()), "feature_negotiation_response");
    return peer;
  }

  static std::string type_of(const std::string& frame) {
    const auto json = Json::parse(frame);
    return json.ok() ? std::string(json.value().text("type")) : frame;
  }

  // "m-1#1 m-2#1": what arrives until there were so many, with the attempt. Acknowledged.
  static std::string receive(WsPeerClient& peer, std::size_t count) {
    std::string found;
    std::size_t seen = 0;
    std::size_t acked = 0;
    while (seen < count || acked < seen) {
      const std::string frame = peer.text();
      const auto json = Json::parse(frame);
      const std::string type = type_of(frame);
      if (type == "ack") {
        acked += must_find(json.value(), "acked").size();
        EXPECT_EQ(must_find(json.value(), "fenced").size(), 0U);
        continue;
      }
      if (type != "push") {
        return found + " " + frame;
      }
      const Json deliveries = must_find(json.value(), "deliveries");
      std::string ids;
      for (std::size_t i = 0; i < deliveries.size(); ++i, ++seen) {
        const Json one = deliveries.item(i);
        found += std::string(found.empty() ? "" : " ") + std::string(one.text("client_message_id"));
        found += "#" + std::to_string(one.integer("attempt").value_or(0));
        ids += (ids.empty() ? "" : ",") + std::to_string(one.integer("delivery_id").value_or(0));
      }
      EXPECT_TRUE(peer.send(R"({"type":"client_ack","delivery_ids":[)" + ids + "]}"));
    }
    return found;
  }

  static Json must_find(const Json& json, std::string_view name) {
    const auto found = json.find(name);
    return found.has_value() ? *found : must(Json::parse("[]"));
  }

  SystemClock system_;
  SystemRandom secrets_;
  ServerLog log_{system_, LogLevel::error, LogForm::text, [](std::string_view /*line*/) {}};
};

TEST_P(BrokerReceivers, FO_06_one_that_does_not_read_loses_its_connection_and_nothing_else) {
  const Server server = serve("limits", milliseconds(300));
  WsPeerClient slow = receiver(server, "ben", 4096);
  WsPeerClient fast = receiver(server, "ann");
  std::string wanted;
  for (int i = 0; i < 100; ++i) {
    const std::string id = "m-" + std::to_string(i);
    ASSERT_EQ(send_message(server, request(id, std::string(60'000, 'x'))), 201);
    ASSERT_EQ(receive(fast, 1), id + "#1") << "others are not delayed";
    wanted += (wanted.empty() ? "" : " ") + id;
  }
  // It is cut off, and its leases end with the connection: the next one gets everything, in order.
  EXPECT_TRUE(
      net::eventually([&] { return server_counts(server, "cm_broker_push_connections 1"); }));
  WsPeerClient next = receiver(server, "ben");
  const std::string got = receive(next, 100);
  std::string ids;
  for (std::size_t at = 0; at < got.size(); at = got.find(' ', at + 1)) {
    const std::size_t begin = at == 0 ? 0 : at + 1;
    ids += (ids.empty() ? "" : " ") + got.substr(begin, got.find('#', begin) - begin);
  }
  EXPECT_EQ(ids, wanted);
  EXPECT_TRUE(got.starts_with("m-0#2 ")) << got.substr(0, 30);
  EXPECT_TRUE(got.ends_with("m-99#1")) << "what it could not be sent was not claimed for it";
}

TEST_P(BrokerReceivers, FO_01_what_is_not_acknowledged_comes_again_from_the_next_broker) {
  Server server = serve("limits");
  WsPeerClient ben = receiver(server, "ben");
  ASSERT_EQ(send_message(server, request("m-1", "one")), 201);
  EXPECT_EQ(type_of(ben.text()), "push");
  EXPECT_TRUE(server->stop(std::chrono::seconds(20)));
  EXPECT_EQ(ben.next().code, net::ws_code::kGoingAway);
  server.reset();
  server = serve("limits");
  WsPeerClient again = receiver(server, "ben");
  EXPECT_EQ(receive(again, 1), "m-1#2");
}

INSTANTIATE_TEST_SUITE_P(Stores, BrokerReceivers,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

class BrokerPushPair : public BrokerReceivers {};

TEST_P(BrokerPushPair, FO_10_what_one_broker_commits_the_other_pushes) {
  const Server one = serve("limits-1");
  const Server two = serve("limits-2");
  WsPeerClient ben = receiver(one, "ben");
  WsPeerClient ann = receiver(two, "ann");
  for (int i = 0; i < 20; ++i) {
    const std::string id = "m-" + std::to_string(i);
    ASSERT_EQ(send_message(i % 2 == 0 ? one : two, request(id, "text")), 201);
    EXPECT_EQ(receive(ben, 1), id + "#1");
    EXPECT_EQ(receive(ann, 1), id + "#1");
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, BrokerPushPair, ::testing::Values(StoreKind::postgres),
                         store_kind_name);

}  // namespace
}  // namespace holdfast::delivery::broker_receivers_test

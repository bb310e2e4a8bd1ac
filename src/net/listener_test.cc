// Addresses that a server listens on: TCP, unix sockets, and those that are refused.
#include "net/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "net/http_server.h"
#include "tests/support/test_client.h"

namespace holdfast::net::listener_test {

namespace {

namespace fs = std::filesystem;

class ListenerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "net_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string unix_address() const { return "unix:" + (folder_ / "s").string(); }

  fs::path folder_;
};

Result<std::unique_ptr<HttpServer>> start(const std::string& address, Handler handler = echo()) {
  Options options;
  options.listen = {address};
  return HttpServer::start(options, std::move(handler));
}

ErrorCode code_of(const std::string& address) {
  const auto started = start(address);
  EXPECT_FALSE(started.ok()) << address;
  EXPECT_NE(started.error().message().find(address), std::string::npos) << address;
  return started.ok() ? ErrorCode::conflict : started.error().code();
}

TEST_F(ListenerTest, invalid_addresses_are_refused) {
  for (const char* address :
       {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:080", "::1:80", "[::1]", "[::1]80", "[127.0.0.1]:80", "300.0.0.1:80",
        "unix:", "[]:1", "192.0.2.1:1"}) {
    EXPECT_EQ(code_of(address), ErrorCode::invalid_argument) << address;
  }
  EXPECT_EQ(code_of("unix:/" + std::string(200, 'x')), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of("unix:" + (folder_ / "missing/s").string()), ErrorCode::invalid_argument);
  EXPECT_EQ(HttpServer::start({}, echo()).error().code(), ErrorCode::invalid_argument);
}

TEST_F(ListenerTest, an_address_in_use_is_refused) {
  const TestServer first;
  const std::string address = first.url().substr(std::string("http://").size());
  EXPECT_EQ(code_of(address), ErrorCode::already_exists);
}

TEST_F(ListenerTest, an_address_can_be_reused_after_stop) {
  std::string address;
  {
    const TestServer first;
    EXPECT_EQ(first.client().call(get("/")).status, 200);
    address = first.url().substr(std::string("http://").size());
  }
  const auto again = start(address);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again.value()->urls().at(0), "http://" + address);
}

TEST_F(ListenerTest, a_unix_socket_is_private_and_reports_the_uid_of_the_peer) {
  const auto started = start(unix_address(), [](const ExchangePtr& exchange) {
    const Peer& peer = exchange->request().peer;
    exchange->reply(text(peer.address + " " + (peer.loopback ? "loopback " : "") +
                         std::to_string(peer.uid.value_or(99'999))));
  });
  ASSERT_TRUE(started.ok()) << started.error().text();
  EXPECT_EQ(started.value()->urls().at(0), unix_address());
  EXPECT_EQ(fs::status(folder_ / "s").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  TestClient client(unix_address());
  EXPECT_EQ(client.call(get("/")).body, "unix loopback " + std::to_string(::getuid()));
  EXPECT_EQ(client.call(get("/")).status, 200);
  started.value()->stop();
  EXPECT_FALSE(fs::exists(folder_ / "s"));
}

TEST_F(ListenerTest, a_unix_socket_in_use_is_not_replaced) {
  const auto first = start(unix_address());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(code_of(unix_address()), ErrorCode::already_exists);
  TestClient client(unix_address());
  EXPECT_EQ(client.call(get("/")).status, 200);
}

TEST_F(ListenerTest, the_socket_file_of_a_crashed_server_is_replaced) {
  {
    const OwnedFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    (folder_ / "s").string().copy(&name.sun_path[0], sizeof name.sun_path - 1);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }
  ASSERT_TRUE(fs::exists(folder_ / "s"));
  const auto started = start(unix_address());
  ASSERT_TRUE(started.ok()) << started.error().text();
  TestClient client(unix_address());
  EXPECT_EQ(client.call(get("/")).status, 200);
}

TEST_F(ListenerTest, a_file_that_is_not_a_socket_is_not_replaced) {
  std::ofstream(folder_ / "s") << "precious";
  EXPECT_EQ(code_of(unix_address()), ErrorCode::already_exists);
  EXPECT_EQ(fs::file_size(folder_ / "s"), 8U);
}

TEST_F(ListenerTest, the_socket_file_of_a_successor_is_not_removed) {
  const auto first = start(unix_address());
  ASSERT_TRUE(first.ok());
  fs::remove(folder_ / "s");
  const auto second = start(unix_address());
  ASSERT_TRUE(second.ok());
  first.value()->stop();
  EXPECT_TRUE(fs::exists(folder_ / "s"));
  TestClient client(unix_address());
  EXPECT_EQ(client.call(get("/")).status, 200);
}

}  // namespace

}  // namespace holdfast::net::listener_test

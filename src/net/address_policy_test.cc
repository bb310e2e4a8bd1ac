// The numbers in the names are those of docs/delivery-tests.md.
#include "net/address_policy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace holdfast::net::address_policy_test {
namespace {

AddressPolicy policy(const std::vector<std::string>& allowed = {}) {
  return AddressPolicy::create(allowed).value();
}

TEST(AddressPolicies, WH_07_public_addresses_are_permitted) {
  for (const char* const address :
       {"1.1.1.1",         "8.8.8.8",         "9.255.255.255",        "11.0.0.0",
        "100.63.255.255",  "100.128.0.0",     "126.255.255.255",      "128.0.0.1",
        "169.253.255.255", "169.255.0.0",     "172.15.255.255",       "172.32.0.0",
        "192.167.255.255", "192.169.0.0",     "198.17.255.255",       "198.20.0.0",
        "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888", "2a00::1",
        "::ffff:8.8.8.8",  "64:ff9b::8.8.8.8"}) {
    EXPECT_TRUE(policy().permits(std::string_view(address))) << address;
  }
}

TEST(AddressPolicies, WH_07_everything_else_is_refused) {
  for (const char* const address : {"0.0.0.0",
                                    "0.1.2.3",
                                    "10.0.0.1",
                                    "10.255.255.255",
                                    "100.64.0.1",
                                    "100.127.255.255",
                                    "127.0.0.1",
                                    "127.1.2.3",
                                    "169.254.169.254",
                                    "172.16.0.1",
                                    "172.31.255.255",
                                    "192.0.0.1",
                                    "192.0.2.1",
                                    "192.88.99.1",
                                    "192.168.1.1",
                                    "198.18.0.1",
                                    "198.19.255.255",
                                    "198.51.100.1",
                                    "203.0.113.1",
                                    "224.0.0.1",
                                    "239.255.255.255",
                                    "240.0.0.1",
                                    "255.255.255.255",
                                    "::",
                                    "::1",
                                    "::ffff:127.0.0.1",
                                    "::ffff:10.0.0.1",
                                    "::ffff:169.254.169.254",
                                    "::127.0.0.1",
                                    "64:ff9b::127.0.0.1",
                                    "64:ff9b::10.1.1.1",
                                    "64:ff9b:1::1",
                                    "100::1",
                                    "2001::1",
                                    "2001:db8::1",
                                    "2002:7f00:1::1",
                                    "2002:808:808::1",
                                    "3fff::1",
                                    "5f00::1",
                                    "fc00::1",
                                    "fd00:ec2::254",
                                    "fe80::1",
                                    "febf::1",
                                    "fec0::1",
                                    "ff02::1",
                                    "localhost",
                                    "",
                                    "1.2.3",
                                    "0x7f000001",
                                    "2130706433"}) {
    EXPECT_FALSE(policy().permits(std::string_view(address))) << address;
  }
}

TEST(AddressPolicies, allowed_networks_are_permitted_and_only_they) {
  const AddressPolicy some = policy({"127.0.0.1", "10.1.0.0/16", "fd00::/8"});
  for (const char* const address :
       {"127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3", "fd12::1", "8.8.8.8"}) {
    EXPECT_TRUE(some.permits(std::string_view(address))) << address;
  }
  for (const char* const address : {"127.0.0.2", "10.2.0.0", "fc00::1", "::1", "169.254.169.254"}) {
    EXPECT_FALSE(some.permits(std::string_view(address))) << address;
  }
}

TEST(AddressPolicies, the_address_of_a_socket_is_judged) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto permits = [](const AddressPolicy& by, const auto& address) {
    return by.permits(reinterpret_cast<const sockaddr&>(address));
  };
  EXPECT_FALSE(permits(policy(), four));
  EXPECT_TRUE(permits(policy({"127.0.0.0/8"}), four));
  four.sin_addr.s_addr = htonl(0x08080808);
  EXPECT_TRUE(permits(policy(), four));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  EXPECT_FALSE(permits(policy(), six));
  EXPECT_TRUE(permits(policy({"::1"}), six));
  sockaddr local{};
  local.sa_family = AF_UNIX;
  EXPECT_FALSE(policy({"0.0.0.0/0", "::/0"}).permits(local));
}

TEST(AddressPolicies, other_texts_than_networks_are_refused) {
  for (const char* const text : {"", "10.0.0.0/33", "::/129", "10.0.0/8", "localhost", "10.0.0.0/",
                                 "10.0.0.0/-1", "10.0.0.0/8 ", "/8", "fd00::/8/8"}) {
    const auto created = AddressPolicy::create(std::vector<std::string>{text});
    ASSERT_FALSE(created.ok()) << text;
    EXPECT_EQ(created.error().code(), ErrorCode::invalid_argument);
  }
}

TEST(WebPorts, are_those_of_web_servers) {
  for (const int port : {80, 443, 1024, 3000, 8080, 8443, 65535}) {
    EXPECT_TRUE(is_web_port(static_cast<std::uint16_t>(port))) << port;
  }
  for (const int port : {0, 1, 22, 25, 53, 110, 143, 1023, 2049, 6000, 6667, 10080}) {
    EXPECT_FALSE(is_web_port(static_cast<std::uint16_t>(port))) << port;
  }
}

}  // namespace
}  // namespace holdfast::net::address_policy_test

#include "base/hmac.h"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"
#include "base/encoding.h"

namespace holdfast::hmac_test {
namespace {

std::string hmac(const std::string& key, const std::string& text) {
  const std::string_view all = text;
  return to_hex(hmac_sha256(as_bytes(key), {as_bytes(all.substr(0, all.size() / 2)),
                                            as_bytes(all.substr(all.size() / 2))}));
}

// RFC 4231.
TEST(Hmac, the_vectors) {
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(
      hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Base64, there_and_back) {
  for (const auto& [plain, text] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="),
        std::pair("foo", "Zm9v"), std::pair("\xfb\xff\xfe", "+//+")}) {
    EXPECT_EQ(to_base64(as_bytes(plain)), text);
    EXPECT_EQ(as_text(from_base64(text).value()), plain);
  }
}

TEST(Base64, any_other_form_is_refused) {
  for (const char* const text : {"Zg", "Zg=", "Zg===", "Zh==", "Z===", "====", "Zm9v=", "Zm9-",
                                 "Zm 9", "Zm8=Zm8=", "Zg==\n", "-__-"}) {
    EXPECT_FALSE(from_base64(text).ok()) << text;
  }
}

}  // namespace
}  // namespace holdfast::hmac_test

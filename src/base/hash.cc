#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>

#include "base/encoding.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

struct AlgorithmDeleter {
  void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
};

// Fetching the algorithm and creating a context cost more than hashing a small text, so each thread
// keeps one.
class Hasher {
 public:
  Digest hash(std::initializer_list<std::span<const std::byte>> parts) {
    HOLDFAST_ASSERT(EVP_DigestInit_ex2(context_.get(), algorithm_.get(), nullptr) == 1);
    for (const auto& part : parts) {
      HOLDFAST_ASSERT(EVP_DigestUpdate(context_.get(), part.data(), part.size()) == 1);
    }
    Digest digest;
    HOLDFAST_ASSERT(EVP_DigestFinal_ex(context_.get(),
                                       reinterpret_cast<unsigned char*>(digest.data()),
                                       nullptr) == 1);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD, AlgorithmDeleter> algorithm_{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
  std::unique_ptr<EVP_MD_CTX, ContextDeleter> context_{EVP_MD_CTX_new()};
};

}  // namespace

Digest sha256(std::initializer_list<std::span<const std::byte>> parts) {
  thread_local Hasher hasher;
  return hasher.hash(parts);
}

Digest sha256(std::string_view text) { return sha256({as_bytes(text)}); }

std::string to_hex(const Digest& digest) { return to_hex(std::span<const std::byte>(digest)); }

bool equal_secrets(std::string_view left, std::string_view right) {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace holdfast

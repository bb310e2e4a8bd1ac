#include "base/blake3.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/encoding.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kChunkBytes = 1024;

// Flags of a block.
constexpr std::uint32_t kChunkStart = 1;
constexpr std::uint32_t kChunkEnd = 2;
constexpr std::uint32_t kParent = 4;
constexpr std::uint32_t kRoot = 8;

using ChainingValue = std::array<std::uint32_t, 8>;
using Block = std::array<std::uint32_t, 16>;

constexpr ChainingValue kInitial = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
constexpr std::array<std::size_t, 16> kPermutation = {2, 6,  3,  10, 7, 0,  4,  13,
                                                      1, 11, 12, 5,  9, 14, 15, 8};

// What compress takes; held back until it is known whether the block is the root.
struct Node {
  ChainingValue input;
  Block block;
  std::uint64_t counter;
  std::uint32_t length;
  std::uint32_t flags;
};

void mix(Block& v, std::array<std::size_t, 4> at, std::uint32_t x, std::uint32_t y) {
  auto& [a, b, c, d] = at;
  v[a] = v[a] + v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] = v[c] + v[d];
  v[b] = std::rotr(v[b] ^ v[c], 12);
  v[a] = v[a] + v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 8);
  v[c] = v[c] + v[d];
  v[b] = std::rotr(v[b] ^ v[c], 7);
}

ChainingValue compress(const Node& node, std::uint32_t extra_flags) {
  const ChainingValue& h = node.input;
  Block v = {h[0],
             h[1],
             h[2],
             h[3],
             h[4],
             h[5],
             h[6],
             h[7],
             kInitial[0],
             kInitial[1],
             kInitial[2],
             kInitial[3],
             static_cast<std::uint32_t>(node.counter),
             static_cast<std::uint32_t>(node.counter >> 32U),
             node.length,
             node.flags | extra_flags};
  Block m = node.block;
  for (int round = 0; round < 7; ++round) {
    if (round > 0) {
      const Block before = m;
      for (std::size_t i = 0; i < m.size(); ++i) {
        m[i] = before[kPermutation[i]];
      }
    }
    mix(v, {0, 4, 8, 12}, m[0], m[1]);
    mix(v, {1, 5, 9, 13}, m[2], m[3]);
    mix(v, {2, 6, 10, 14}, m[4], m[5]);
    mix(v, {3, 7, 11, 15}, m[6], m[7]);
    mix(v, {0, 5, 10, 15}, m[8], m[9]);
    mix(v, {1, 6, 11, 12}, m[10], m[11]);
    mix(v, {2, 7, 8, 13}, m[12], m[13]);
    mix(v, {3, 4, 9, 14}, m[14], m[15]);
  }
  ChainingValue out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = v[i] ^ v[i + 8];
  }
  return out;
}

Block read_block(std::span<const std::byte> bytes) {
  HOLDFAST_ASSERT(bytes.size() <= kBlockBytes);
  Block words{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    words[i / 4] |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * (i % 4));
  }
  return words;
}

// The last block of a chunk; the blocks before it are compressed.
Node chunk_node(std::span<const std::byte> chunk, std::uint64_t counter) {
  HOLDFAST_ASSERT(chunk.size() <= kChunkBytes);
  Node node{kInitial, {}, counter, 0, kChunkStart};
  while (chunk.size() > kBlockBytes) {
    node.block = read_block(chunk.first(kBlockBytes));
    node.length = kBlockBytes;
    node.input = compress(node, 0);
    node.flags = 0;
    chunk = chunk.subspan(kBlockBytes);
  }
  node.block = read_block(chunk);
  node.length = static_cast<std::uint32_t>(chunk.size());
  node.flags |= kChunkEnd;
  return node;
}

Node parent_node(const ChainingValue& left, const ChainingValue& right) {
  Node node{kInitial, {}, 0, kBlockBytes, kParent};
  std::copy(left.begin(), left.end(), node.block.begin());
  std::copy(right.begin(), right.end(), node.block.begin() + left.size());
  return node;
}

// The left side of a tree is the largest power of two of chunks that leaves one byte to the right.
Node tree_node(std::span<const std::byte> bytes, std::uint64_t first_chunk) {
  if (bytes.size() <= kChunkBytes) {
    return chunk_node(bytes, first_chunk);
  }
  const std::size_t left_chunks = std::bit_floor((bytes.size() - 1) / kChunkBytes);
  const std::size_t left_bytes = left_chunks * kChunkBytes;
  const Node left = tree_node(bytes.first(left_bytes), first_chunk);
  const Node right = tree_node(bytes.subspan(left_bytes), first_chunk + left_chunks);
  return parent_node(compress(left, 0), compress(right, 0));
}

}  // namespace

Digest blake3(std::span<const std::byte> bytes) {
  const ChainingValue words = compress(tree_node(bytes, 0), kRoot);
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  }
  return digest;
}

Digest blake3(std::string_view text) { return blake3(as_bytes(text)); }

}  // namespace holdfast

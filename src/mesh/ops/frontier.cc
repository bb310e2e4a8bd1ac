#include "mesh/ops/frontier.h"

#include <algorithm>

#include "mesh/ops/field_codec.h"

namespace holdfast::mesh {

void advance(Frontier& frontier, const Timestamp& at) {
  Timestamp& newest = frontier.emplace(at.node, at).first->second;
  newest = std::max(newest, at);
}

std::vector<std::byte> encode_frontier(const Frontier& frontier) {
  PostcardWriter out;
  out.varint(frontier.size());
  FieldEncoder fields(out);
  for (const auto& [node, newest] : frontier) {
    fields(node, newest);
  }
  return std::move(out).take();
}

Result<Frontier> decode_frontier(std::span<const std::byte> bytes) {
  PostcardReader in(bytes);
  FieldDecoder fields(in);
  Frontier frontier;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    NodeId node;
    Timestamp newest;
    fields(node, newest);
    if (!frontier.empty() && node <= frontier.rbegin()->first) {
      in.fail("the nodes of a frontier do not ascend");
    }
    frontier.emplace_hint(frontier.end(), node, newest);
  }
  if (in.ok() && in.remaining() > 0) {
    in.fail("bytes after the end of the frontier");
  }
  HOLDFAST_CHECK(in.result());
  return frontier;
}

}  // namespace holdfast::mesh

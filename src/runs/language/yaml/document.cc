#include "runs/language/yaml/document.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"

namespace holdfast {

namespace {

const YamlNode& resolved(const YamlTree& tree, std::size_t index) {
  const YamlNode* node = &tree.nodes[index];
  while (node->kind == YamlNode::Kind::alias) {
    node = &tree.nodes[node->target];
  }
  return *node;
}

// NOLINTNEXTLINE(misc-no-recursion): at most kMaxYamlDepth deep.
void append_json(std::string& out, const YamlTree& tree, std::size_t index) {
  const YamlNode& node = resolved(tree, index);
  if (node.kind == YamlNode::Kind::scalar) {
    out += node.json;
    return;
  }
  const bool map = node.kind == YamlNode::Kind::map;
  out += map ? '{' : '[';
  bool first = true;
  for (const YamlMember& member : node.members) {
    out += first ? "" : ",";
    first = false;
    if (map) {
      append_json_string(out, member.name);
      out += ':';
    }
    append_json(out, tree, member.node);
  }
  out += map ? '}' : ']';
}

const YamlMember* find_part(const YamlNode& node, const std::string& part) {
  if (node.kind == YamlNode::Kind::list) {
    const auto index = parse_decimal(part);
    return index.has_value() && *index < node.members.size() ? &node.members[*index] : nullptr;
  }
  const auto found = std::find_if(node.members.begin(), node.members.end(),
                                  [&](const YamlMember& member) { return member.name == part; });
  return found == node.members.end() ? nullptr : &*found;
}

}  // namespace

YamlDocument::YamlDocument(SourceText source, YamlTree tree)
    : source_(std::move(source)), tree_(std::move(tree)) {
  std::string text;
  append_json(text, tree_, tree_.nodes.size() - 1);
  json_ = JsonText::trusted(std::move(text));
}

Result<YamlDocument> YamlDocument::parse(std::string_view text) {
  HOLDFAST_TRY(SourceText source, SourceText::create(text));
  HOLDFAST_TRY(YamlTree tree, read_tree(source));
  return YamlDocument(std::move(source), std::move(tree));
}

SourceLocation YamlDocument::location(const std::vector<std::string>& path) const {
  std::size_t at = tree_.nodes.size() - 1;
  std::size_t offset = tree_.nodes[at].offset;
  for (const std::string& part : path) {
    const YamlMember* const member = find_part(resolved(tree_, at), part);
    if (member == nullptr) {
      break;
    }
    at = member->node;
    offset = member->offset;
  }
  return source_.location(offset);
}

}  // namespace holdfast

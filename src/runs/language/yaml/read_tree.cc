#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_map>

#include "base/quote.h"
#include "runs/language/yaml/scalar.h"
#include "runs/language/yaml/tree.h"

namespace holdfast {

namespace {

// Ends the reading; caught in read_tree.
struct Refused {
  std::size_t offset;
  std::string reason;
};

YamlNode scalar(std::size_t offset, std::string json) {
  YamlNode node;
  node.offset = offset;
  node.json = std::move(json);
  return node;
}

// Without the anchor and the tag in front of a value.
std::string_view without_properties(std::string_view text) {
  while (text.starts_with('&') || text.starts_with('!')) {
    text.remove_prefix(std::min(text.find_first_of(" \t\r\n"), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  return text;
}

// False: the text begins with a quote that is never closed.
bool ends_quoted(std::string_view text) {
  if (!text.starts_with('"') && !text.starts_with('\'')) {
    return true;
  }
  const char quote = text.front();
  const std::string_view stops = quote == '"' ? "\"\\" : "'";
  for (std::size_t at = 1; (at = text.find_first_of(stops, at)) != std::string_view::npos;) {
    const bool doubled = quote == '\'' && text.substr(at + 1).starts_with('\'');
    if (text[at] == quote && !doubled) {
      return true;
    }
    at += 2;
  }
  return false;
}

// The message of the library, reworded.
std::string in_plain_words(const std::string& message) {
  struct Phrase {
    std::string_view said;
    std::string_view meant;
  };
  constexpr std::array<Phrase, 9> kPhrases = {{
      {"illegal map value", "unexpected \":\"; check indentation and quotes"},
      {"end of map not found",
       "this does not belong to the mapping before it; check indentation and quotes"},
      {"end of sequence not found",
       "this does not belong to the list before it; check indentation and quotes"},
      {"end of map flow not found", "missing } for a mapping that began with {"},
      {"end of sequence flow not found", "missing ] for a list that began with ["},
      {"illegal flow end", "unexpected closing bracket"},
      {"illegal EOF in scalar", "missing closing quote"},
      {"illegal block entry", "a list item cannot begin here; put it on its own line"},
      {"unknown token", "a value cannot begin with this character; quote it"},
  }};
  const auto* const found =
      std::find_if(kPhrases.begin(), kPhrases.end(),
                   [&](const Phrase& phrase) { return phrase.said == message; });
  return found == kPhrases.end() ? message : std::string(found->meant);
}

// Whether a tab indents the line of the byte.
bool is_tab_indented(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line = before.rfind('\n') + 1;
  const std::string_view indent = text.substr(line, text.find_first_not_of(" \t", line) - line);
  return indent.find('\t') != std::string_view::npos;
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const SourceText& source) : source_(source) {}

  YamlTree take() && {
    if (tree_.nodes.empty()) {
      tree_.nodes.push_back(scalar(0, "null"));
    }
    return std::move(tree_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) {
      return;
    }
    const std::size_t offset = offset_of(mark);
    const std::string_view rest = std::string_view(source_.readable()).substr(offset);
    const bool marked = rest.starts_with("---") || source_.readable().find("\n---") < offset;
    throw Refused{offset, marked ? "a second document begins here; a file has one workflow"
                                 : "unexpected content; check indentation and brackets"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_name()) {
      throw Refused{offset_of(mark),
                    "a key is missing or null; quote it if it is meant as a string"};
    }
    add(scalar(offset_of(mark), "null"), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const std::size_t offset = offset_of(mark);
    if (wants_name()) {
      take_name(offset, tag, value);
      return;
    }
    refuse_open_quote(offset);
    auto read = scalar_json(tag, value);
    if (const auto* refused = std::get_if<ScalarRefused>(&read)) {
      throw Refused{offset, refused->reason};
    }
    YamlNode node = scalar(offset, std::get<ScalarJson>(std::move(read)).json);
    node.size.bytes = value.size();
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t offset = offset_of(mark);
    if (wants_name()) {
      throw Refused{offset, "an alias cannot be a key; write the key out"};
    }
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) {
      throw Refused{offset, "an alias refers to a value that contains it"};
    }
    YamlNode node;
    node.kind = YamlNode::Kind::alias;
    node.offset = offset;
    node.target = target->second;
    node.size = tree_.nodes[target->second].size;
    add(std::move(node), YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag, is_list_tag(tag));
    open(mark, YamlNode::Kind::list, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag, is_map_tag(tag));
    open(mark, YamlNode::Kind::map, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map that is not complete yet.
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    bool named = false;  // the name of the next member is there
    YamlMember next;
    std::unordered_map<std::string, std::size_t> names;  // with their offsets
  };

  static std::size_t offset_of(const YAML::Mark& mark) {
    return mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos);
  }

  [[nodiscard]] bool wants_name() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().named;
  }

  void take_name(std::size_t offset, const std::string& tag, const std::string& name) {
    if (name == "<<" && tag == "?") {
      throw Refused{offset, "merge keys (<<) are not supported; write the fields out"};
    }
    if (tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:str") {
      throw Refused{offset, "a key cannot have a tag; remove it"};
    }
    Open& map = open_.back();
    const auto [earlier, is_new] = map.names.emplace(name, offset);
    if (!is_new) {
      throw Refused{offset, fmt::format("{} appears twice, first on line {}", quote(name),
                                        source_.location(earlier->second).line)};
    }
    map.named = true;
    map.next = {name, offset, 0};
    map.node.size.bytes += name.size();
  }

  // The library treats the end of the text as the closing quote if a line break precedes it.
  void refuse_open_quote(std::size_t offset) const {
    const std::string_view rest = std::string_view(source_.readable()).substr(offset);
    if (!ends_quoted(without_properties(rest))) {
      throw Refused{offset, "missing closing quote"};
    }
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag, bool known) {
    if (!known) {
      throw Refused{offset_of(mark), fmt::format("the tag {} does not fit here; remove it",
                                                 printable(tag, kMaxShownBytes))};
    }
  }

  void open(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor) {
    if (wants_name()) {
      throw Refused{offset_of(mark),
                    "a list or mapping cannot be a key; is a closing bracket missing?"};
    }
    if (open_.size() == kMaxYamlDepth) {
      throw Refused{offset_of(mark), fmt::format("nested more than {} levels deep", kMaxYamlDepth)};
    }
    Open& opened = open_.emplace_back();
    opened.node.kind = kind;
    opened.node.offset = offset_of(mark);
    opened.anchor = anchor;
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    add(std::move(closed.node), closed.anchor);
  }

  void add(YamlNode node, YAML::anchor_t anchor) {
    const std::size_t offset = node.offset;
    const YamlNode::Size size = node.size;
    const std::size_t index = tree_.nodes.size();
    tree_.nodes.push_back(std::move(node));
    if (anchor != YAML::NullAnchor) {
      anchors_[anchor] = index;
    }
    if (!open_.empty()) {
      Open& parent = open_.back();
      YamlMember member = parent.named ? std::move(parent.next) : YamlMember{"", offset, 0};
      member.node = index;
      parent.named = false;
      parent.node.members.push_back(std::move(member));
      YamlNode::Size& whole = parent.node.size;
      whole.nodes += size.nodes;
      whole.bytes += size.bytes;
      whole.depth = std::max(whole.depth, size.depth + 1);
    }
    refuse_too_much(offset, size);
  }

  // Open values count too, so that growth is stopped at once.
  void refuse_too_much(std::size_t offset, const YamlNode::Size& newest) const {
    std::size_t nodes = open_.empty() ? newest.nodes : 0;
    std::size_t bytes = open_.empty() ? newest.bytes : 0;
    for (const Open& open : open_) {
      nodes += open.node.size.nodes;
      bytes += open.node.size.bytes;
    }
    if (open_.size() + newest.depth > kMaxYamlDepth + 1) {
      throw Refused{offset, fmt::format("nested more than {} levels deep", kMaxYamlDepth)};
    }
    if (nodes > kMaxYamlNodes) {
      throw Refused{offset, fmt::format("more than {} values, aliases included", kMaxYamlNodes)};
    }
    if (bytes > kMaxYamlBytes) {
      throw Refused{offset, "more than 4 MiB of text, aliases included"};
    }
  }

  const SourceText& source_;
  YamlTree tree_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, std::size_t> anchors_;
  std::size_t documents_ = 0;
};

}  // namespace

Result<YamlTree> read_tree(const SourceText& source) {
  TreeBuilder builder(source);
  try {
    std::istringstream stream(source.readable());
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return source_error(source.location(refused.offset), refused.reason);
  } catch (const YAML::Exception& exception) {
    const std::size_t offset =
        exception.mark.is_null() ? 0 : static_cast<std::size_t>(std::max(exception.mark.pos, 0));
    const bool tab = is_tab_indented(source.readable(), offset);
    return source_error(
        source.location(offset),
        in_plain_words(exception.msg) +
            (tab ? "; the line is indented with a tab, which YAML does not allow" : ""));
  }
  return std::move(builder).take();
}

}  // namespace holdfast

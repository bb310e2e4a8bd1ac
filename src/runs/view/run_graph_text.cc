// A RunGraph as text for Graphviz and for Mermaid.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "runs/language/definition/spec.h"
#include "runs/run/redact.h"
#include "runs/view/run_graph.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxConditionBytes = 60;

struct Look {
  std::string_view status;
  std::string_view fill;
  std::string_view line;
};
constexpr std::array<Look, 12> kLooks{{{"waiting", "#f5f5f5", "#9e9e9e"},
                                       {"pending", "#e8eaf6", "#5c6bc0"},
                                       {"deferred", "#ede7f6", "#7e57c2"},
                                       {"running", "#bbdefb", "#1976d2"},
                                       {"retrying", "#ffe0b2", "#f57c00"},
                                       {"paused", "#fff9c4", "#fbc02d"},
                                       {"parked", "#ffccbc", "#e64a19"},
                                       {"completed", "#c8e6c9", "#388e3c"},
                                       {"failed", "#ffcdd2", "#d32f2f"},
                                       {"skipped", "#f5f5f5", "#bdbdbd"},
                                       {"withdrawn", "#eeeeee", "#757575"},
                                       {"abandoned", "#eeeeee", "#757575"}}};

const Look& look_of(std::string_view status) {
  const auto found = std::find_if(kLooks.begin(), kLooks.end(),
                                  [&](const Look& look) { return look.status == status; });
  return found == kLooks.end() ? kLooks.front() : *found;
}

// The second line of a node.
std::string state_text(const GraphNode& node) {
  std::string text = node.status;
  if (node.items.has_value()) {
    text += fmt::format(" {}/{}", node.items->done, node.items->total);
    if (node.items->failed > 0) {
      text += fmt::format(", {} failed", node.items->failed);
    }
  }
  if (node.attempts > 1) {
    text += fmt::format(", attempt {}", node.attempts);
  }
  if (node.visits > 1) {
    text += fmt::format(", visit {}", node.visits);
  }
  return text;
}

std::string edge_text(const GraphEdge& edge) {
  std::string text(edge.on.has_value() ? to_text(*edge.on) : "");
  if (!edge.condition.empty()) {
    text += (text.empty() ? "" : " ") + one_line(redact(edge.condition).view(), kMaxConditionBytes);
  }
  if (edge.recovery.has_value()) {
    text += fmt::format("{}({})", text.empty() ? "" : " ", to_text(*edge.recovery));
  }
  return text;
}

// Ends of paths and of runs that edges lead to, and what only edges name.
std::vector<std::string> ends_of(const RunGraph& graph) {
  std::set<std::string_view> known;
  for (const GraphNode& node : graph.nodes) {
    known.insert(node.id);
  }
  std::vector<std::string> ends;
  for (const GraphEdge& edge : graph.edges) {
    for (const std::string* end : {&edge.from, &edge.to}) {
      if (known.insert(*end).second) {
        ends.push_back(*end);
      }
    }
  }
  return ends;
}

// In quotes. A backslash would begin an escape of Graphviz, so it is doubled.
std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      out += ' ';
    } else {
      out += c == '"' || c == '\\' ? "\\" : "";
      out += c;
    }
  }
  return out + '"';
}

// How a node is drawn: the shape for Graphviz, and the brackets for Mermaid.
struct Shape {
  std::string_view dot;
  std::string_view open;
  std::string_view close;
};

Shape shape_of(const GraphNode& node) {
  switch (node.kind.value_or(NodeKind::handler)) {
    case NodeKind::pause:
    case NodeKind::approval:
      return {"octagon", "{{", "}}"};
    case NodeKind::wait:
    case NodeKind::await_event:
      return {"ellipse", "([", "])"};
    case NodeKind::child:
      return {"component", "[[", "]]"};
    case NodeKind::handler:
    case NodeKind::log:
    case NodeKind::http:
    case NodeKind::exec:
    case NodeKind::compensation:
      break;
  }
  return node.items.has_value() ? Shape{"box3d", "[[", "]]"} : Shape{"box", "[", "]"};
}

std::string_view dot_style(const GraphEdge& edge) {
  if (edge.status == "selected") {
    return R"(color="#388e3c", penwidth=2)";
  }
  if (edge.status == "skipped") {
    return R"(color="#bdbdbd", style=dashed)";
  }
  return edge.status == "pending" ? R"(color="#1976d2")" : R"(color="#9e9e9e", style=dotted)";
}

// In quotes: what Mermaid would understand is written as an entity.
std::string mermaid_text(std::string_view text) {
  constexpr std::string_view kSpecial = "\"#&<>`\\{}[]()|;";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "<br/>";
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      out += ' ';
    } else if (kSpecial.find(c) != std::string_view::npos) {
      out += fmt::format("#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string_view mermaid_arrow(const GraphEdge& edge) {
  if (edge.status == "selected") {
    return "==>";
  }
  return edge.status == "pending" ? "-->" : "-.->";
}

}  // namespace

std::string to_dot(const RunGraph& graph) {
  std::string out = fmt::format("digraph {} {{\n", dot_text(graph.workflow));
  out += "  rankdir=TB;\n";
  out += "  node [fontname=\"sans-serif\", style=filled];\n";
  out += "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  for (const GraphNode& node : graph.nodes) {
    const Look& look = look_of(node.status);
    out +=
        fmt::format("  {} [label={}, shape={}, fillcolor=\"{}\", color=\"{}\"{}];\n",
                    dot_text(node.id), dot_text(node.id + "\n" + state_text(node)),
                    shape_of(node).dot, look.fill, look.line, node.current ? ", penwidth=2" : "");
  }
  for (const std::string& end : ends_of(graph)) {
    out += fmt::format("  {} [shape={}, fillcolor=\"#ffffff\"];\n", dot_text(end),
                       end == kFailStep ? "diamond" : "doublecircle");
  }
  for (const GraphEdge& edge : graph.edges) {
    const std::string label = edge_text(edge);
    out += fmt::format("  {} -> {} [{}{}{}];\n", dot_text(edge.from), dot_text(edge.to),
                       label.empty() ? "" : "label=" + dot_text(label), label.empty() ? "" : ", ",
                       dot_style(edge));
  }
  return out + "}\n";
}

std::string to_mermaid(const RunGraph& graph) {
  std::map<std::string_view, std::string> names;
  std::string out = "flowchart TD\n";
  for (const GraphNode& node : graph.nodes) {
    const std::string& name = names[node.id] = fmt::format("n{}", names.size());
    const auto [dot, open, close] = shape_of(node);
    out += fmt::format("  {}{}{}{}:::{}\n", name, open,
                       mermaid_text(node.id + "\n" + state_text(node)), close,
                       look_of(node.status).status);
  }
  const std::vector<std::string> ends = ends_of(graph);
  for (const std::string& end : ends) {
    const std::string& name = names[end] = fmt::format("n{}", names.size());
    out += fmt::format("  {}(({}))\n", name, mermaid_text(end));
  }
  for (const GraphEdge& edge : graph.edges) {
    const std::string label = edge_text(edge);
    out += fmt::format("  {} {}{} {}\n", names[edge.from], mermaid_arrow(edge),
                       label.empty() ? "" : "|" + mermaid_text(label) + "|", names[edge.to]);
  }
  std::set<std::string_view> used;
  for (const GraphNode& node : graph.nodes) {
    used.insert(look_of(node.status).status);
  }
  for (const Look& look : kLooks) {
    if (used.contains(look.status)) {
      out += fmt::format("  classDef {} fill:{},stroke:{}\n", look.status, look.fill, look.line);
    }
  }
  return out;
}

}  // namespace holdfast

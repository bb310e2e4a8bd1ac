#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"
#include "runs/facts/activation.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxCondition = 40;
constexpr std::size_t kMaxChildren = 20;
constexpr std::size_t kIndent = 3;
constexpr std::size_t kStatusWidth = 14;  // of the longest, and a gap
constexpr std::size_t kMinName = 8;
constexpr std::string_view kCompensation = "compensation";

// A line of the tree: what stands left is drawn, what stands right is aligned.
struct Line {
  std::string left;  // lines and label, without control characters
  std::string name = {};
  Ink name_ink = Ink::plain;
  std::string status = {};
  std::string notes = {};
};

bool is_outcome(std::string_view target) { return target == "complete" || target == "fail"; }

// "ok when {…}", "error (undo)"; nothing for a dependency.
std::string label_of(const GraphEdge& edge) {
  std::string label(edge.on.has_value() ? to_text(*edge.on) : "");
  if (!edge.condition.empty()) {
    label += " when " + short_json(edge.condition, kMaxCondition);
  }
  if (edge.recovery.has_value()) {
    label += fmt::format(" ({})", to_text(*edge.recovery));
  }
  return label;
}

// Whether the run went this way.
std::string_view way_of(const GraphEdge& edge) {
  if (!edge.on.has_value()) {
    return "";
  }
  return edge.status == "selected" ? "taken" : edge.status == "skipped" ? "skipped" : "";
}

void append(std::string& notes, std::string_view note) {
  if (!note.empty()) {
    notes += (notes.empty() ? "" : ", ") + std::string(note);
  }
}

class GraphTree {
 public:
  GraphTree(const RunGraph& graph, const Style& style) : graph_(graph), style_(style) {
    for (const GraphNode& node : graph.nodes) {
      nodes_.emplace(node.id, &node);
    }
    for (const GraphEdge& edge : graph.edges) {
      if (!is_compensation(edge.to)) {
        out_[edge.from].push_back(&edge);
        leads_to_[edge.to] += edge.from == edge.to ? 0U : 1U;
        joins_[edge.to] += edge.on.has_value() ? 0U : 1U;
      }
    }
    // What was followed is drawn before what was not: a step stands where the run came from.
    for (auto& [from, edges] : out_) {
      std::stable_partition(edges.begin(), edges.end(),
                            [](const GraphEdge* edge) { return edge->status != "skipped"; });
    }
  }

  std::string text() && {
    for (const GraphNode& node : graph_.nodes) {
      if (leads_to_[node.id] == 0) {
        add_root(node);
      }
    }
    // Loops that nothing leads into.
    for (const GraphNode& node : graph_.nodes) {
      add_root(node);
    }
    std::string out = drawn();
    if (has_compensations_) {
      out += "\n" + style_.paint(Ink::bold, "Compensation:") + "\n";
      for (const GraphNode& node : graph_.nodes) {
        if (is_compensation(node.id)) {
          lines_.push_back(line_of(node, "  "));
        }
      }
      out += drawn();
    }
    return out;
  }

 private:
  void add_root(const GraphNode& node) {
    if (is_compensation(node.id)) {
      has_compensations_ = true;
      return;
    }
    // What stands too far to the right is continued at the left, below.
    put_off_.push_back(&node);
    while (!put_off_.empty()) {
      const GraphNode& next = *put_off_.front();
      put_off_.pop_front();
      if (printed_.insert(next.id).second) {
        lines_.push_back(line_of(next, ""));
        add_below(next, "");
      }
    }
  }

  // The reference to a step that is drawn elsewhere; empty when the step itself is drawn here.
  std::string reference_to(const GraphEdge& edge) const {
    if (is_outcome(edge.to)) {
      return edge.to;
    }
    if (!nodes_.contains(edge.to)) {
      return edge.to + " (no step)";
    }
    if (printed_.contains(edge.to)) {
      return edge.to + " (above)";
    }
    const bool put_off = std::any_of(put_off_.begin(), put_off_.end(),
                                     [&](const GraphNode* node) { return node->id == edge.to; });
    return put_off ? edge.to + " (below)" : std::string();
  }

  // The only thing that follows stands in the same line if the tree shows it elsewhere.
  bool add_beside(const std::vector<const GraphEdge*>& edges) {
    const std::string reference = edges.size() == 1 ? reference_to(*edges.front()) : "";
    if (reference.empty()) {
      return false;
    }
    const GraphEdge& edge = *edges.front();
    const std::string label = label_of(edge);
    std::string note = (label.empty() ? "" : label + " ") + "-> " + reference;
    append(note, way_of(edge));
    std::string& notes = lines_.back().notes;
    notes += (notes.empty() ? "" : "  ") + note;
    return true;
  }

  void add_below(const GraphNode& node, const std::string& margin) {
    const auto found = out_.find(node.id);
    if (found == out_.end() || add_beside(found->second)) {
      return;
    }
    const std::vector<const GraphEdge*>& edges = found->second;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const GraphEdge& edge = *edges[i];
      const bool last = i + 1 == edges.size();
      const std::string label = label_of(edge);
      const std::string left =
          margin + (last ? "└─ " : "├─ ") + (label.empty() ? "" : label + ": ");
      std::string reference = reference_to(edge);
      if (reference.empty() && columns_of(margin) + kIndent > style_.width / 3) {
        put_off_.push_back(nodes_.at(edge.to));
        reference = edge.to + " (below)";
      }
      if (!reference.empty()) {
        lines_.push_back({left + "-> ", reference, Ink::dim, std::string(way_of(edge))});
        continue;
      }
      printed_.insert(edge.to);
      const GraphNode& next = *nodes_.at(edge.to);
      lines_.push_back(line_of(next, left));
      append(lines_.back().notes, edge.status == "skipped" ? "route skipped" : "");
      add_below(next, margin + (last ? "   " : "│  "));
    }
  }

  Line line_of(const GraphNode& node, const std::string& left) const {
    Line line{left, node.id + (node.current ? " *" : ""), node.current ? Ink::bold : Ink::plain,
              node.status};
    if (node.attempts > 1) {
      append(line.notes, counted(node.attempts, "attempt"));
    }
    if (node.visits > 1) {
      append(line.notes, counted(node.visits, "visit"));
    }
    if (node.items.has_value()) {
      append(line.notes,
             fmt::format("{}/{}", node.items->done, counted(node.items->total, "item")));
      if (node.items->failed > 0) {
        append(line.notes, fmt::format("{} failed", node.items->failed));
      }
    }
    const auto joins = joins_.find(node.id);
    if (joins != joins_.end() && joins->second > 1) {
      append(line.notes, fmt::format("joins {}", joins->second));
    }
    if (!node.deadline.empty() && node.deadline != "on_time") {
      append(line.notes, node.deadline);
    }
    if (node.added_by.has_value()) {
      const std::string& step = node.added_by->step;
      append(line.notes, fmt::format("added by {}", step.empty() ? node.added_by->actor : step));
    }
    return line;
  }

  // The lines so far.
  std::string drawn() {
    std::size_t status_at = 0;
    std::size_t status_width = 0;
    for (Line& line : lines_) {
      const std::size_t drawn = columns_of(line.left);
      const std::size_t used = drawn + (line.status.empty() ? 0 : kStatusWidth);
      const std::size_t available = style_.width - std::min(style_.width, used);
      line.name = short_text(line.name, std::max(available, kMinName));
      const std::size_t left = drawn + columns_of(line.name);
      // A line that is much longer than others does not move their statuses.
      if (!line.status.empty() && left <= style_.width * 2 / 5) {
        status_at = std::max(status_at, left + kGap);
      }
      status_width = std::max(status_width, line.status.size());
    }
    std::string out;
    for (const Line& line : lines_) {
      out += line.left + style_.paint(line.name_ink, line.name);
      std::size_t used = columns_of(line.left) + columns_of(line.name);
      const auto move_to = [&](std::size_t column) {
        const std::size_t spaces = column > used ? std::max(column - used, kGap) : kGap;
        out += std::string(spaces, ' ');
        used += spaces;
      };
      if (!line.status.empty()) {
        move_to(status_at);
        out += style_.paint(ink_of_status(line.status), line.status);
        used += line.status.size();
      }
      if (!line.notes.empty()) {
        move_to(status_at + status_width + kGap);
        out += short_text(line.notes, style_.width - std::min(style_.width, used));
      }
      out += "\n";
    }
    lines_.clear();
    return out;
  }

  const RunGraph& graph_;
  const Style& style_;
  std::map<std::string, const GraphNode*, std::less<>> nodes_;
  std::map<std::string, std::vector<const GraphEdge*>, std::less<>> out_;
  std::map<std::string, std::size_t, std::less<>> leads_to_;
  std::map<std::string, std::size_t, std::less<>> joins_;  // dependencies alone
  std::set<std::string, std::less<>> printed_;
  std::deque<const GraphNode*> put_off_;
  std::vector<Line> lines_;
  bool has_compensations_ = false;
};

std::string show_children(const RunGraph& graph, const Style& style) {
  if (graph.children.empty()) {
    return {};
  }
  std::string out = "\n" + style.paint(Ink::bold, "Children:") + "\n";
  for (std::size_t i = 0; i < std::min(graph.children.size(), kMaxChildren); ++i) {
    const ChildLink& child = graph.children[i];
    out += short_text(fmt::format("  {}  {}, of step {}{}", child.run_id, child.workflow,
                                  child.step, child.awaited ? "" : ", not awaited"),
                      style.width) +
           "\n";
  }
  if (graph.children.size() > kMaxChildren) {
    out += fmt::format("  (and {} more)\n", graph.children.size() - kMaxChildren);
  }
  return out;
}

}  // namespace

std::string show_graph(const RunGraph& graph, const Style& style) {
  const bool is_run = !graph.run_id.empty();
  std::string out =
      title_line({graph.workflow, graph.version, is_run ? graph.status : std::string()}, style);
  out += is_run ? fmt::format("run {}\n", graph.run_id) : "";
  out += graph.source == "facts"
             ? "The definition is not stored here; these are the steps that have started.\n"
             : "";
  out += "\n" + (graph.nodes.empty() ? "No steps.\n" : GraphTree(graph, style).text());
  out += show_children(graph, style);
  out +=
      graph.continued_as.empty() ? "" : fmt::format("\nContinued as run {}\n", graph.continued_as);
  out += graph.current.empty() ? "" : "\n" + style.paint(Ink::dim, "* current step") + "\n";
  return out;
}

}  // namespace holdfast

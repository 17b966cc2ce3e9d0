//! Rendering of the dependency graph as text, Graphviz DOT or Mermaid.
//!
//! Only edges between tasks of the given set are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::TaskStatus;
use crate::id::TaskId;

/// Maximum indentation of the text graph, in characters.
const MAX_INDENT_CHARS: usize = 90;

/// A task in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyNode {
    /// Number of the task.
    pub id: TaskId,
    /// Subject, shown as the label.
    pub subject: String,
    /// Status, shown as a mark or color.
    pub status: TaskStatus,
    /// Owner; empty if it has none.
    pub owner: String,
    /// Tasks that wait for it.
    pub blocks: Vec<TaskId>,
}

impl DependencyNode {
    fn status_mark(&self) -> char {
        match self.status {
            TaskStatus::Pending => '☐',
            TaskStatus::InProgress => '▶',
            TaskStatus::Completed => '✓',
            TaskStatus::Deleted => '✗',
        }
    }
}

/// A set of tasks and the edges among them.
#[derive(Debug, Clone, Default)]
pub struct DependencyGraph(BTreeMap<TaskId, DependencyNode>);

impl FromIterator<DependencyNode> for DependencyGraph {
    fn from_iter<I: IntoIterator<Item = DependencyNode>>(nodes: I) -> Self {
        let mut all: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.id, node)).collect();
        let existing: BTreeSet<TaskId> = all.keys().copied().collect();
        for node in all.values_mut() {
            node.blocks.retain(|id| existing.contains(id));
        }
        Self(all)
    }
}

impl DependencyGraph {
    /// Renders a forest: under each task those that wait for it. A task that was already shown is only
    /// referred to, by the text that `render_reference` returns for it.
    pub fn to_text(&self, render_reference: impl Fn(TaskId) -> String) -> String {
        let waiting: BTreeSet<TaskId> = self
            .0
            .values()
            .flat_map(|node| node.blocks.iter().copied())
            .collect();
        let mut out = String::new();
        let mut printed = BTreeSet::new();
        // Depth-first with an explicit stack, because a chain may be longer than the call stack allows.
        let mut stack: Vec<(TaskId, String, String)> = self
            .0
            .keys()
            .rev()
            .filter(|id| !waiting.contains(id))
            .map(|&id| (id, String::new(), String::new()))
            .collect();
        while let Some((id, prefix, child_prefix)) = stack.pop() {
            let Some(node) = self.0.get(&id) else {
                continue;
            };
            let owner = if node.owner.is_empty() {
                String::new()
            } else {
                format!(" @{}", node.owner)
            };
            if !printed.insert(id) {
                let (mark, reference) = (node.status_mark(), render_reference(id));
                let _ = writeln!(out, "{prefix}{mark} {reference}");
                continue;
            }
            let _ = writeln!(
                out,
                "{prefix}{} #{id} {}{owner}",
                node.status_mark(),
                node.subject
            );
            for (n, &child) in node.blocks.iter().enumerate().rev() {
                let last = n + 1 == node.blocks.len();
                // Beyond a maximum width the indentation no longer grows, so that a long chain fits on the
                // screen.
                let deeper = match (child_prefix.chars().count() < MAX_INDENT_CHARS, last) {
                    (false, _) => child_prefix.clone(),
                    (true, true) => format!("{child_prefix}   "),
                    (true, false) => format!("{child_prefix}│  "),
                };
                stack.push((
                    child,
                    format!("{child_prefix}{}", if last { "└─ " } else { "├─ " }),
                    deeper,
                ));
            }
        }
        out
    }

    /// Renders the graph in Graphviz DOT.
    pub fn to_dot(&self) -> String {
        let mut out =
            "digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n".to_owned();
        for node in self.0.values() {
            let label = node.subject.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(
                out,
                "  t{} [label=\"#{} {label}\\n{}\"];",
                node.id,
                node.id,
                node.status.as_str()
            );
        }
        self.for_each_edge(|from, to| {
            let _ = writeln!(out, "  t{from} -> t{to};");
        });
        out.push_str("}\n");
        out
    }

    /// Renders the graph in Mermaid.
    pub fn to_mermaid(&self) -> String {
        let mut out = "graph LR\n".to_owned();
        for node in self.0.values() {
            // HTML entities, because Mermaid has no escapes inside quotes.
            let label = node
                .subject
                .replace('#', "#35;")
                .replace('"', "#quot;")
                .replace('<', "#lt;")
                .replace('>', "#gt;");
            let _ = writeln!(
                out,
                "  t{}[\"#35;{} {label}\"]:::{}",
                node.id,
                node.id,
                node.status.as_str()
            );
        }
        self.for_each_edge(|from, to| {
            let _ = writeln!(out, "  t{from} --> t{to}");
        });
        out.push_str("  classDef completed fill:#d3f9d8\n  classDef in_progress fill:#fff3bf\n");
        out
    }

    fn for_each_edge(&self, mut visit: impl FnMut(TaskId, TaskId)) {
        for node in self.0.values() {
            for &to in &node.blocks {
                visit(node.id, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_node(n: u64, subject: &str, status: TaskStatus, blocks: &[u64]) -> DependencyNode {
        DependencyNode {
            id: TaskId::new(n).unwrap(),
            subject: subject.to_owned(),
            status,
            owner: String::new(),
            blocks: blocks.iter().map(|&b| TaskId::new(b).unwrap()).collect(),
        }
    }

    fn diamond_graph() -> DependencyGraph {
        [
            test_node(1, "调研 \"x\"", TaskStatus::Completed, &[2, 3]),
            test_node(2, "API", TaskStatus::InProgress, &[4]),
            test_node(3, "UI", TaskStatus::Pending, &[4]),
            test_node(4, "ship", TaskStatus::Pending, &[99]),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn text_graph_shows_each_task_once() {
        let expected = "\
✓ #1 调研 \"x\"
├─ ▶ #2 API
│  └─ ☐ #4 ship
└─ ☐ #3 UI
   └─ ☐ #4 (above)
";
        let text = diamond_graph().to_text(|id| format!("#{id} (above)"));
        assert_eq!(text, expected);
    }

    #[test]
    fn dot_and_mermaid_escape_quotes() {
        assert!(
            diamond_graph()
                .to_dot()
                .contains(r##"t1 [label="#1 调研 \"x\"\ncompleted"];"##)
        );
        assert!(diamond_graph().to_dot().contains("t2 -> t4;"));
        assert!(
            diamond_graph()
                .to_mermaid()
                .contains(r##"t1["#35;1 调研 #quot;x#quot;"]:::completed"##)
        );
    }
}

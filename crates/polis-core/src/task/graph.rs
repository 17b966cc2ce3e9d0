//! Rendering of the dependency graph as text, Graphviz DOT or Mermaid.
//!
//! Only edges between tasks of the given set are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::TaskStatus;
use crate::id::TaskId;

/// Maximum indentation of the text graph, in characters.
const MAX_INDENT: usize = 90;

/// A task in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: TaskId,
    /// Its subject.
    pub subject: String,
    /// Its status.
    pub status: TaskStatus,
    /// Its owner.
    pub owner: String,
    /// Tasks that wait for it.
    pub blocks: Vec<TaskId>,
}

impl Node {
    fn mark(&self) -> char {
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
pub struct Graph(BTreeMap<TaskId, Node>);

impl FromIterator<Node> for Graph {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        let mut all: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.id, node)).collect();
        let known: BTreeSet<TaskId> = all.keys().copied().collect();
        for node in all.values_mut() {
            node.blocks.retain(|id| known.contains(id));
        }
        Self(all)
    }
}

impl Graph {
    /// Renders a forest: under each task those that wait for it. A task that was already shown is only named.
    pub fn to_text(&self) -> String {
        let waiting: BTreeSet<TaskId> = self
            .0
            .values()
            .flat_map(|node| node.blocks.iter().copied())
            .collect();
        let mut out = String::new();
        let mut shown = BTreeSet::new();
        // Depth-first with an explicit stack, because a chain may be longer than the call stack allows.
        let mut stack: Vec<(TaskId, String, String)> = self
            .0
            .keys()
            .rev()
            .filter(|id| !waiting.contains(id))
            .map(|&id| (id, String::new(), String::new()))
            .collect();
        while let Some((id, lead, below)) = stack.pop() {
            let Some(node) = self.0.get(&id) else {
                continue;
            };
            let owner = if node.owner.is_empty() {
                String::new()
            } else {
                format!(" @{}", node.owner)
            };
            if !shown.insert(id) {
                let _ = writeln!(out, "{lead}{} #{id} (above)", node.mark());
                continue;
            }
            let _ = writeln!(out, "{lead}{} #{id} {}{owner}", node.mark(), node.subject);
            for (n, &child) in node.blocks.iter().enumerate().rev() {
                let last = n + 1 == node.blocks.len();
                // Beyond a maximum width the indentation no longer grows, so that a long chain fits on the
                // screen.
                let deeper = match (below.chars().count() < MAX_INDENT, last) {
                    (false, _) => below.clone(),
                    (true, true) => format!("{below}   "),
                    (true, false) => format!("{below}│  "),
                };
                stack.push((
                    child,
                    format!("{below}{}", if last { "└─ " } else { "├─ " }),
                    deeper,
                ));
            }
        }
        out
    }

    /// Renders Graphviz DOT.
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
        self.each_edge(|from, to| {
            let _ = writeln!(out, "  t{from} -> t{to};");
        });
        out.push_str("}\n");
        out
    }

    /// Renders a Mermaid graph.
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
        self.each_edge(|from, to| {
            let _ = writeln!(out, "  t{from} --> t{to}");
        });
        out.push_str("  classDef completed fill:#d3f9d8\n  classDef in_progress fill:#fff3bf\n");
        out
    }

    fn each_edge(&self, mut tell: impl FnMut(TaskId, TaskId)) {
        for node in self.0.values() {
            for &to in &node.blocks {
                tell(node.id, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(n: u64, subject: &str, status: TaskStatus, blocks: &[u64]) -> Node {
        Node {
            id: TaskId::new(n).unwrap(),
            subject: subject.to_owned(),
            status,
            owner: String::new(),
            blocks: blocks.iter().map(|&b| TaskId::new(b).unwrap()).collect(),
        }
    }

    fn diamond() -> Graph {
        [
            node(1, "调研 \"x\"", TaskStatus::Completed, &[2, 3]),
            node(2, "API", TaskStatus::InProgress, &[4]),
            node(3, "UI", TaskStatus::Pending, &[4]),
            node(4, "ship", TaskStatus::Pending, &[99]),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn text_shows_each_task_once() {
        let expected = "\
✓ #1 调研 \"x\"
├─ ▶ #2 API
│  └─ ☐ #4 ship
└─ ☐ #3 UI
   └─ ☐ #4 (above)
";
        assert_eq!(diamond().to_text(), expected);
    }

    #[test]
    fn dot_and_mermaid_escape_their_quotes() {
        assert!(
            diamond()
                .to_dot()
                .contains(r##"t1 [label="#1 调研 \"x\"\ncompleted"];"##)
        );
        assert!(diamond().to_dot().contains("t2 -> t4;"));
        assert!(
            diamond()
                .to_mermaid()
                .contains(r##"t1["#35;1 调研 #quot;x#quot;"]:::completed"##)
        );
    }
}

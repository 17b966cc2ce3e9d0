//! Subcommands whose arguments are defined only when they are called ([`DeferredSubcommands`]).
//!
//! A command parses one subcommand of 130. Defining the arguments of all of them takes a megabyte of memory and a
//! sixth of the time of `polis task get`. Whatever reads the whole tree (help in Chinese, the reference, completions)
//! gets it defined at once.

use std::cell::Cell;

use clap::builder::Resettable;
use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

thread_local! {
    /// Whether groups of subcommands are deferred in trees that are created now.
    static IS_DEFERRING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `create` so that groups of subcommands in the tree it returns are deferred.
pub(crate) fn create_deferred(create: impl FnOnce() -> Command) -> Command {
    IS_DEFERRING.set(true);
    let tree = create();
    IS_DEFERRING.set(false);
    tree
}

/// A group of subcommands, such as those of `polis task`.
#[derive(Debug)]
pub(crate) struct DeferredSubcommands<T>(pub(crate) Box<T>);

impl<T: FromArgMatches> FromArgMatches for DeferredSubcommands<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|found| Self(Box::new(found)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Subcommand> Subcommand for DeferredSubcommands<T> {
    fn augment_subcommands(command: Command) -> Command {
        if IS_DEFERRING.get() {
            command.defer(add_subcommands::<T>)
        } else {
            T::augment_subcommands(command)
        }
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        T::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

/// Adds the subcommands. The description of the group is kept: deferred or not, it comes from the outer enum.
fn add_subcommands<T: Subcommand>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    T::augment_subcommands(command)
        .about(Resettable::from(about))
        .long_about(Resettable::from(long_about))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::PolisCli;

    /// Returns what clap prints for these arguments: help, or a usage error.
    fn render_output(mut tree: Command, arguments: &[&str]) -> String {
        let error = tree.try_get_matches_from_mut(arguments).unwrap_err();
        error.render().to_string()
    }

    #[test]
    fn deferred_tree_prints_what_the_whole_tree_prints() {
        let groups: Vec<String> = PolisCli::command()
            .get_subcommands()
            .map(|group| group.get_name().to_owned())
            .collect();
        assert!(groups.len() > 25, "{groups:?}");
        let mut cases: Vec<Vec<&str>> = vec![
            vec!["polis", "--help"],
            vec!["polis", "help", "task", "claim"],
            vec!["polis", "task", "clam"],
            vec!["polis", "board", "read", "--unknown"],
            vec!["polis", "agent", "token", "issue"],
        ];
        for group in &groups {
            cases.push(vec!["polis", group, "--help"]);
            cases.push(vec!["polis", "help", group]);
        }
        for arguments in cases {
            let deferred = create_deferred(PolisCli::command);
            assert_eq!(
                render_output(deferred, &arguments),
                render_output(PolisCli::command(), &arguments),
                "{arguments:?}"
            );
        }
    }
}

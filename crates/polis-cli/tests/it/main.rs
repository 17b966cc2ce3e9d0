//! Integration tests of the command line as scripts and agents use it: the real program, real files, real processes.
//!
//! A case that holds for every store is written once and named in [`board::on_both_stores`]; its PostgreSQL variant
//! runs if `POLIS_TEST_PG_URL` names a server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod answers;
mod architecture;
mod blackboard;
mod board;
mod boards_concurrency;
mod boards_crash;
mod boards_decisions;
mod boards_faults;
mod boards_guards;
mod boards_history;
mod boards_hostile;
mod boards_leases;
mod boards_limits;
mod boards_merge;
mod boards_outside;
mod boards_permissions;
mod boards_repair;
mod boards_sections;
mod boards_team;
mod boards_templates;
mod boards_watch;
mod broken_disk;
mod claims;
mod commands;
mod concurrency;
mod configuration;
mod crash;
mod damaged_store;
mod demo;
mod demo_script;
mod dependencies;
mod events;
mod exchange;
mod exec;
mod figures;
mod generated;
mod hostile_input;
mod import;
mod import_edges;
mod kill;
mod mcp;
mod mcp_install;
mod permissions;
mod places;
mod planted_projects;
mod readme;
mod reference;
mod schema;
mod serve;
mod serve_end;
mod server;
mod society;
mod tables;
mod talk;
mod task_cases;
mod task_files;
mod task_search;
mod tui;
mod web;
mod workspace_files;
mod workspace_roots;
mod workspaces;
mod workspaces_bound;

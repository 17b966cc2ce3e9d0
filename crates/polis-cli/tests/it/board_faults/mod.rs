//! Tests of boards under faults: crashes, full disks, external edits and hostile texts.

pub(crate) mod board_crash;
pub(crate) mod board_crash_repair;
pub(crate) mod board_disk_faults;
pub(crate) mod board_external_edits;
pub(crate) mod board_safeguards;
pub(crate) mod hostile_boards;

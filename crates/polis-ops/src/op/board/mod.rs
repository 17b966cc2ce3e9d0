//! Operations on whiteboards and the blackboard: reading, writing, sections, versions, locks, decisions.

pub(crate) mod blackboard;
pub(crate) mod board_decisions;
pub(crate) mod board_history;
pub(crate) mod edit_section;
pub(crate) mod list_boards;
pub(crate) mod lock_board;
pub(crate) mod read_board;
pub(crate) mod write_board;

pub use blackboard::{
    BlackboardFile, BlackboardReadParams, BlackboardWriteMode, BlackboardWriteParams,
    BlackboardWriteResult, read_blackboard, write_blackboard,
};
pub use board_decisions::{
    BoardDecideParams, BoardDecisionList, BoardMilestoneList, DecisionAction, DecisionActionKind,
    DecisionChange, DecisionView, MilestoneChangeParams, MilestoneView, change_decision,
    change_milestone, list_decisions, list_milestones, may_sign,
};
pub use board_history::{
    BoardDiffParams, BoardHistoryParams, BoardNameParams, BoardRestoreParams, BoardVersionDiff,
    BoardVersionList, BoardVersionShowParams, BoardVersionText, diff_board, list_board_versions,
    restore_board, show_board_version,
};
pub use edit_section::{SectionAction, SectionEditParams, edit_section};
pub use list_boards::{
    BoardEntry, BoardList, BoardRight, BoardRights, ListBoardsParams, explain_board_rights,
    list_boards,
};
pub use lock_board::{
    BoardLockParams, BoardLockResult, BoardUnlockParams, BoardUnlockResult, lock_board,
    unlock_board,
};
pub use read_board::{BoardFileNotice, BoardReadParams, BoardView, read_board};
pub use write_board::{
    BoardAppendParams, BoardChangeResult, BoardWriteParams, append_board, write_board,
};

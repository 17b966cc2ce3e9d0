//! The tool calls of a response that have no result yet. A queue always has a current call: when the last call
//! has its result, [`CallQueue::advance`] returns the finished response instead of an empty queue.

use std::vec;

use crate::model::ToolCall;

/// The calls of the newest response that have no result yet.
#[derive(Debug, Clone)]
pub(super) struct CallQueue {
    current: ToolCall,
    rest: vec::IntoIter<ToolCall>,
    /// The index of the current call in the response.
    index: usize,
    /// How far the current call is.
    pub(super) stage: CallStage,
    /// The turn of the response.
    turn: u64,
    /// How many calls of the response are not executed because there were too many.
    dropped_calls: u64,
    /// The compaction that one of the calls requested; it follows the last result.
    pub(super) compaction: Option<RequestedCompaction>,
}

/// How far the current call is on its way to execution. Approval comes before payment, and a call that is
/// paid for needs no further check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStage {
    /// Nothing is checked yet.
    Unchecked,
    /// It was approved and paid for, and a process that has ended started it.
    Interrupted,
    /// The person approved it.
    Approved,
    /// The budget covers it; approved before, if it needs approval.
    Funded,
}

/// A compaction that the member requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestedCompaction {
    /// With this summary.
    WithSummary(String),
    /// With a summary that the model is asked for.
    ByModel,
}

/// What is left of a response after the result of a call.
#[derive(Debug)]
pub(super) enum CallProgress {
    /// The calls that follow.
    Next(CallQueue),
    /// Nothing: all calls have their results.
    Finished(FinishedResponse),
}

/// A response whose calls all have their results.
#[derive(Debug)]
pub(super) struct FinishedResponse {
    /// The turn of the response.
    pub(super) turn: u64,
    /// How many calls have a result.
    pub(super) call_count: usize,
    /// How many further calls there were.
    pub(super) dropped_calls: u64,
    /// The compaction that a call requested.
    pub(super) compaction: Option<RequestedCompaction>,
}

impl CallQueue {
    /// Creates the queue of a response; returns `None` if it has no calls.
    pub(super) fn new(calls: Vec<ToolCall>, turn: u64, dropped_calls: u64) -> Option<Self> {
        let mut rest = calls.into_iter();
        Some(Self {
            current: rest.next()?,
            rest,
            index: 0,
            stage: CallStage::Unchecked,
            turn,
            dropped_calls,
            compaction: None,
        })
    }

    /// Returns the first call without a result.
    pub(super) fn current(&self) -> &ToolCall {
        &self.current
    }

    /// Returns the index of the current call in the response.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Returns the turn of the response.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns the queue with the current call at this stage.
    pub(super) fn at_stage(self, stage: CallStage) -> Self {
        Self { stage, ..self }
    }

    /// Continues with the next call; the current one has its result.
    pub(super) fn advance(mut self) -> CallProgress {
        match self.rest.next() {
            Some(call) => CallProgress::Next(Self {
                current: call,
                index: self.index + 1,
                stage: CallStage::Unchecked,
                ..self
            }),
            None => CallProgress::Finished(FinishedResponse {
                turn: self.turn,
                call_count: self.index + 1,
                dropped_calls: self.dropped_calls,
                compaction: self.compaction,
            }),
        }
    }
}

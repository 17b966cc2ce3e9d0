//! Tests of `polis demo`.

mod board_demo;
mod demo_recording;

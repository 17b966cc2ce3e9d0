//! polis in a browser: pages made on the server over the same operations every surface has, live through
//! one stream of events. No rules of its own.
//!
//! A request comes through the server's gate, is somebody's by its session (`session`), and is answered by
//! a page (`page/*`), one folder for each tab. Whole documents are drawn by `layout`, refusals by `refused`;
//! parts of a page are the same functions that draw them within it, fetched again when `live` says that
//! something happened.

mod address;
mod assets;
mod brief;
mod door;
mod frame;
mod given;
mod guesses;
mod house;
mod layout;
mod lean;
mod live;
mod markdown;
mod moment;
mod once;
mod packed;
mod page;
mod refused;
mod scope;
mod session;
mod sides;
mod tab;
mod taste;
mod timeline;
mod visit;

pub use house::Web;

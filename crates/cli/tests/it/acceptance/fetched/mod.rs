//! A manifest of many with one in a hundred that is bad, while whoever fetches is killed again and again.
//!
//! | Where | What |
//! |---|---|
//! | `manifest.rs` | what is asked for, how the origin answers, and what must become of it |
//! | `watched.rs` | what must hold whenever somebody looks while it runs |
//! | `judged.rs` | what must hold afterwards: counts, codes, bytes, dead letters, what is missing |
//! | `bucket.rs` | where objects lie, on a disk or in a bucket |
//! | `proxies.rs` | a pool with nobody left |
//! | `storage.rs`, `front.rs` | a bucket that refuses, breaks off and loses answers |
//! | `killed.rs` | the tests, on SQLite with a folder and on Postgres with a bucket |

mod bucket;
mod front;
mod judged;
mod killed;
mod manifest;
mod proxies;
mod storage;
mod watched;

//! What was promised, checked from outside: the real binary, a gateway that misbehaves, browsers that keep their cookies.
//!
//! Every check runs on SQLite and on Postgres, each time in a world of its own. Checks wait for facts, never for time to
//! pass; where a check is about time, it compares instants that the server or the gateway has recorded.
//!
//! | Where | What |
//! |---|---|
//! | `door.rs` | what is refused before it is a job |
//! | `answers.rs` | what becomes of a job for every answer of a gateway |
//! | `slow.rs` | a gateway that is silent, drips or floods; the spacing of retries |
//! | `down.rs` | a gateway that is down and comes back: the breaker |
//! | `storage.rs` | disks that fail or are full |
//! | `kept.rs` | downloads, retention, retries by hand |
//! | `killed.rs` | servers that are killed at the worst moment |
//! | `drained.rs` | servers that are asked to stop |
//! | `fleet.rs` | two servers, and leases that are longer than they seem |
//! | `database.rs` | a database that is locked, full, crashed or cut off |
//! | `clients.rs` | clients that are slow or lie |
//! | `fetched/` | a manifest of many, some of them bad, whose workers are killed |
//! | `seen.rs` | log lines, metrics and rows that use the same names |

/// Each of these functions as two tests, one per store.
macro_rules! on_both {
    ($($check:ident),+ $(,)?) => {$(
        mod $check {
            use crate::acceptance::kit::World;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$check(World::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let Some(world) = World::postgres().await else { return };
                super::$check(world).await;
            }
        }
    )+};
}

mod answers;
mod clients;
mod database;
mod door;
mod down;
mod drained;
mod fetched;
mod fleet;
mod kept;
mod killed;
mod kit;
mod seen;
mod slow;
mod storage;

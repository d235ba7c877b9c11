//! The workload `fetch`: a URL becomes a stored object, or a failure with a name.
//!
//! ```text
//! Resource ──▶ guard ──▶ look-up ──▶ dial ──▶ GET, redirects by hand ──▶ hashed while it streams ──▶ <prefix>/<hash>-<tail>
//!              (each hop, each address)             │ broke off: asked once more for the rest          │ not taken: kept, sent again
//!                                                   └ and then kept for the next attempt ──────────────┘ without a second download
//! ```
//!
//! What is deliberately absent: a retry. Whatever an origin does is a [`Failure`](redrive_engine::Failure) with a code; policy, budgets
//! and breakers are the engine's. The one exception is part of an attempt and says so: a connection that broke is made once more.

mod batch;
mod dns;
mod download;
mod failure;
mod guard;
mod handler;
mod hook;
mod id;
mod input;
mod key;
mod made;
mod manifest;
mod place_temps;
mod polite;
mod proxy;
pub mod wire;

pub use batch::{Missing, summary};
pub use dns::{Lookup, LookupError, Resolver};
pub use download::{DownloadOptions, Downloads, SetupError};
pub use guard::{Checked, Guard, GuardOptions, MAX_URL_BYTES, Refused};
pub use handler::{Fetch, FetchOptions, Place, Places};
pub use hook::{
    Candidate, CommandError, CommandHook, CommandOptions, Hook, HookError, ResourceView, Verdict,
};
pub use id::{id_of_url, shown_id};
pub use input::{Flaw, MAX_ID_BYTES, MAX_PAIR_BYTES, MAX_PAIRS, Resource};
pub use key::object_key;
pub use made::Made;
pub use manifest::{
    About, AcceptError, Accepted, Again, Cancel, Canceller, Destinations, Format, Handing, ManifestLimits,
    ManifestOptions, ManifestProblem, ManifestProblems, ManifestRetention, Manifests, Received, Shape, Spot,
    Starter, Unpack, Unpacker,
};
pub use place_temps::TempRetention;
pub use proxy::{PoolError, PoolOptions, Pools, ProxyState};

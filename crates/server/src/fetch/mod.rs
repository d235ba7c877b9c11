//! `/api/fetch`: manifests come in, batches are looked at, and what is missing goes out again.

pub(crate) mod acts;
pub(crate) mod look;
pub(crate) mod missing;
pub(crate) mod post;
mod shape;

use std::sync::Arc;

use redrive_fetch::{Manifests, Places, Pools};

pub(crate) use acts::{cancel, retry};
pub(crate) use look::{list, one, resources};
pub(crate) use missing::missing;
pub(crate) use post::post;

/// What a server needs to fetch. Whether it also downloads is the caller's business.
#[derive(Debug, Clone)]
pub struct FetchParts {
    /// Takes manifests in, and tells about their batches.
    pub manifests: Manifests,
    /// Where objects are, for whoever wants one of them.
    pub places: Places,
    /// The proxies that downloads of this process go through, for people who want to know how they are.
    pub pools: Arc<Pools>,
}

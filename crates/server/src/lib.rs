//! Redrive's HTTP side: sessions, uploads, jobs, downloads, the event stream, health, the failure registry, and the pages.
//!
//! [`App`] is made from the engine's handles and two places for files; [`serve`] puts it behind the door. Every route is a row
//! of one table ([`routes`]); a row says who may use it, and the layers follow from that.
//!
//! What is deliberately absent: a way from a request to a job that does not ask whose it is. Handlers get jobs from
//! `own::Desk`, which alone holds the engine, and it wants a session for each of them. Operators are sessions that may see all.

mod app;
mod auditor;
mod body;
mod csrf;
mod dead;
mod deadline;
mod desk;
mod digest;
mod disk;
mod download;
mod failures;
mod feed;
mod fetch;
mod health;
mod intake;
mod jobs;
mod limits;
mod mappings;
mod meter;
mod once;
mod openapi;
mod operator;
mod own;
mod pages;
mod peer;
mod prometheus;
mod pulse;
mod query;
mod rates;
mod refusal;
mod request;
mod routes;
mod session;
mod settings;
mod slots;
mod sources;
mod tokens;
mod upload;
mod view;
mod zip;

pub use app::{App, AppParts, serve};
pub use disk::{Disk, DiskParts};
pub use fetch::FetchParts;
pub use intake::IntakeParts;
pub use limits::{Limits, Rate, Rates};
pub use openapi::openapi;
pub use operator::{CODE_LIFE, MIN_TOKEN, Operators, OperatorsError};
pub use prometheus::Metrics;
pub use routes::{Access, RouteInfo, page_routes, routes};
pub use settings::{Examine, SettingsParts, in_force};

/// The accept loop's numbers.
pub use redrive_door::Limits as DoorLimits;

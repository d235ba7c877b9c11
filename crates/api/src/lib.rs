//! What requests and answers look like.
//!
//! Only shapes: no routes, no stores, no decisions. JSON is snake_case, instants are RFC 3339 in UTC. The server makes these
//! values, a client reads them; both see the same types, and the OpenAPI document is made from them.

mod audit;
mod bulk;
#[cfg(feature = "client")]
pub mod client;
mod dead;
mod desk;
mod digest;
mod failure;
mod fetch;
mod group;
mod intake;
mod job;
mod list;
mod mapping;
mod overview;
mod problem;
mod replay;
mod settings;
mod status;
mod token;
mod trail;

pub use audit::{Audit, Violation};
pub use bulk::{
    CancelAnswer, CancelJobs, CancelledJobs, DiscardAnswer, DiscardLetters, DiscardedLetters, MatchingJobs,
    WaitingFilter,
};
pub use dead::{
    DeadLetter, DeadLetterList, DeadQuery, DownloadTask, HttpHeader, NDJSON, PROTOBUF, ProxyHint,
    StorageHint, TaskAttributes,
};
pub use desk::{
    Act, ActList, ActQuery, Because, BreakerDetail, BreakerList, BreakerTurn, DrainWorker, HoldTarget,
    Simulate, Simulated, TargetHold, TriedPolicy, TurnList, TurnQuery, Worker, WorkerList,
};
pub use digest::{
    Delivery, DeliveryList, DigestReply, DigestRequest, Notification, NotificationList, OwnerDigest,
    WhichNotification,
};
pub use failure::FailureEntry;
pub use fetch::{
    FetchBatch, FetchError, FetchList, FetchManifest, FetchProxy, FetchReply, FetchResource, FetchResources,
    FetchSnapshot, ManifestResource, ResourceFailure, ResourceQuery,
};
pub use group::{Group, GroupList, GroupQuery};
pub use intake::{
    ClearInFlight, DocumentFailure, DocumentHistory, DocumentList, DocumentMove, DocumentQuery,
    FailureRecord, FailureRecordList, InFlightCleared, IntakeDocument, IntakeLook, IntakeSettings,
    IntakeStatus, RecordQuery, ReportAsked,
};
pub use job::{Job, JobError, JobReply, LastFailure, Links, UploadReply};
pub use list::{JobList, ListQuery, PageQuery};
pub use mapping::Mapping;
pub use overview::{
    CodeFailures, Overview, OverviewQuery, OverviewSlot, Trouble, WorkerSum, WorkloadDepth, WorkloadLatency,
};
pub use problem::{PROBLEM_JSON, Problem, ProblemError};
pub use replay::{
    Matching, MatchingOf, NewReplay, Replay, ReplayFilter, ReplayList, ReplayQuery, SkippedLetters,
};
pub use settings::{Examination, Finding, FindingLevel, ProxyPool, Setting, SettingList};
pub use status::{Breaker, DiskState, GatewayState, Queue, Status};
pub use token::{MadeToken, NewToken, Token, TokenList};
pub use trail::{Attempt, Event, Explanation, Step};

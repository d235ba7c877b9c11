//! What policy can know about a code: its family, what is done with it, and which budget it spends.

use crate::state::words;
use serde::{Deserialize, Serialize};

words!(
    /// The family of a code, as people file it.
    Category {
        /// The caller's input is wrong.
        Validation = "validation",
        /// Missing or insufficient credentials.
        Authorization = "authorization",
        /// The request cannot be answered in the present state.
        Request = "request",
        /// The PDF→XML gateway.
        Gateway = "gateway",
        /// Getting a resource from its origin.
        Download = "download",
        /// Putting an object into storage.
        Upload = "upload",
        /// Stored things: disks, manifests, artifacts.
        Storage = "storage",
        /// Code that users plugged in.
        Handler = "handler",
        /// Telling people: mail.
        Notify = "notify",
        /// Redrive itself and its processes.
        System = "system",
    }
);

words!(
    /// What policy does with a code.
    Class {
        /// Likely to pass: retried under the policy's cap.
        Transient = "transient",
        /// The other side asked for time: waits without spending an attempt.
        Throttled = "throttled",
        /// Our own surroundings (a full disk): given back uncharged, the target is held.
        Environment = "environment",
        /// Will not change by itself: no retry by policy.
        Permanent = "permanent",
        /// The process that ran it is gone: charged, and counted as a crash.
        Crash = "crash",
        /// Only an answer to a request; never the end of a job.
        Request = "request",
    }
);

/// How often policy may retry a code, beside the policy's own cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retries {
    /// Not at all.
    None,
    /// As often as the policy allows.
    Policy,
    /// At most so often per generation, whatever the policy allows.
    AtMost(u32),
}

impl std::fmt::Display for Retries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("no retry"),
            Self::Policy => f.write_str("under the policy's cap"),
            Self::AtMost(1) => f.write_str("once"),
            Self::AtMost(n) => write!(f, "at most {n} times"),
        }
    }
}

words!(
    /// Which allowance a retry spends, where a policy keeps several.
    Budget {
        /// The job's attempts in general.
        Attempts = "attempts",
        /// Downloads from the origin.
        Download = "download",
        /// Uploads and storage calls.
        Storage = "storage",
        /// Proxies that did not work.
        Proxy = "proxy",
    }
);

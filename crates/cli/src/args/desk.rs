//! What can be asked about failure groups, replays, targets and workers, and about a policy that is only tried.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand};
use jiff::Timestamp;

use super::when;
use crate::settings::Flags;
use crate::settings::table::CLIENT;

/// Which ones.
#[derive(Debug, Group)]
pub(crate) struct Looked {
    /// Their ids
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Print one JSON object for each
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

/// Which ones, and why.
#[derive(Debug, Group)]
pub(crate) struct Acted {
    /// Their ids
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print one JSON object for each
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

/// What to do with failure groups.
#[derive(Debug, Subcommand)]
pub(crate) enum Groups {
    /// List failure groups, last seen first: the same fault in many jobs
    List {
        /// Only where people are so far with it: new, acknowledged, resolved, regressed
        #[arg(long)]
        state: Option<String>,
        /// Only of this workload
        #[arg(long, value_name = "NAME")]
        workload: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = when::rows)]
        limit: usize,
        /// Print one JSON object per group
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Show everything about groups
    Show(Looked),
    /// Say that somebody has looked at groups
    Ack(Acted),
    /// Say that groups are mended; one that is seen again is regressed by itself
    Resolve(Acted),
}

impl Groups {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. } => flags,
            Self::Show(looked) => &looked.flags,
            Self::Ack(acted) | Self::Resolve(acted) => &acted.flags,
        }
    }
}

/// What to do with replays.
#[derive(Debug, Subcommand)]
pub(crate) enum Replays {
    /// List replays, newest first; `redrive dead replay` starts one
    List {
        /// Only of this workload
        #[arg(long, value_name = "NAME")]
        workload: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = when::rows)]
        limit: usize,
        /// Print one JSON object per replay
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Show everything about replays
    Show(Looked),
    /// Take no further dead letters until it is resumed; what was started goes on
    Pause(Acted),
    /// End a pause
    Resume(Acted),
    /// End replays; what was started goes on, the rest stays among the dead letters
    Cancel(Acted),
}

impl Replays {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. } => flags,
            Self::Show(looked) => &looked.flags,
            Self::Pause(acted) | Self::Resume(acted) | Self::Cancel(acted) => &acted.flags,
        }
    }
}

/// What to do with targets.
#[derive(Debug, Subcommand)]
pub(crate) enum Breakers {
    /// List the targets that jobs depend on, those in trouble first
    List {
        /// Print one JSON object per target
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// List what breakers did, newest first: opened, probed, closed, and what people did with their targets
    History {
        /// Only of this target
        #[arg(value_name = "TARGET")]
        target: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = when::rows)]
        limit: usize,
        /// Print one JSON object per turn
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Hold targets: their jobs wait and lose nothing
    Hold {
        /// Their names
        #[arg(required = true, value_name = "TARGET")]
        targets: Vec<String>,
        /// Until this instant, or for so long: 2026-01-31T08:00:00Z, 30m, 2h [default: until they are released]
        #[arg(long, value_name = "WHEN", value_parser = when::coming)]
        until: Option<Timestamp>,
        /// Why, for the audit trail and for whoever wonders
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Print one JSON object per target
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Let targets go: ends a hold, and closes an open breaker step by step
    Release {
        /// Their names
        #[arg(required = true, value_name = "TARGET")]
        targets: Vec<String>,
        /// Why, for the audit trail
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Print one JSON object per target
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
}

impl Breakers {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. }
            | Self::History { flags, .. }
            | Self::Hold { flags, .. }
            | Self::Release { flags, .. } => flags,
        }
    }
}

/// What to do with workers.
#[derive(Debug, Subcommand)]
pub(crate) enum Workers {
    /// List the processes that run jobs, those that live first
    List {
        /// Print one JSON object per worker
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Have workers take no new work: they finish what they have, and stay until they are stopped
    Drain {
        /// Have them take new work again
        #[arg(long)]
        cancel: bool,
        #[command(flatten)]
        acted: Acted,
    },
}

impl Workers {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. } => flags,
            Self::Drain { acted, .. } => &acted.flags,
        }
    }
}

/// Which policy to try, and on what.
#[derive(Debug, Group)]
pub(crate) struct Simulate {
    /// The policy, as TOML or JSON: preset, max_attempts, deadline_sec, retry_all, code_caps; - reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// Whose jobs
    #[arg(long, value_name = "NAME", default_value = "convert")]
    pub(crate) workload: String,
    /// Jobs that were created since this instant, or within so long: 2026-01-31T08:00:00Z, 2026-01-31, 7d, 12h
    #[arg(long, value_name = "WHEN", value_parser = when::past, default_value = "7d")]
    pub(crate) since: Timestamp,
    /// Print the API's JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

//! What can be asked about dead letters.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};
use jiff::Timestamp;

use super::when;
use crate::settings::Flags;
use crate::settings::table::CLIENT;

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    /// List dead letters, newest first
    List {
        #[command(flatten)]
        which: WhichDead,
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = when::rows)]
        limit: usize,
        /// Print one JSON object per dead letter
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Show everything about dead letters
    Show {
        /// Their offsets
        #[arg(required = true, value_name = "OFFSET")]
        offsets: Vec<String>,
        /// Print one JSON object per dead letter
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Write out all dead letters that match, oldest first, for other systems
    Export {
        #[command(flatten)]
        which: WhichDead,
        /// One JSON object per line, or protobuf messages `DeadLetterTask`, each behind its length
        #[arg(long, value_enum, default_value_t = Form::Json)]
        format: Form,
        /// File to write; it is there when it is whole [default: stdout]
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Start dead letters again: single ones at once, many as a replay that is counted first and watches itself
    Replay(Box<ReplayDead>),
    /// Mark dead letters as not wanted: single ones at once, many after a count; they stay, and are found by `--state discarded`
    Discard(Box<DiscardDead>),
}

impl Dead {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. } | Self::Show { flags, .. } | Self::Export { flags, .. } => flags,
            Self::Replay(replay) => &replay.flags,
            Self::Discard(discard) => &discard.flags,
        }
    }
}

/// Which dead letters.
#[derive(Debug, Clone, Group)]
pub(crate) struct WhichDead {
    /// Only with this code
    #[arg(long)]
    pub(crate) code: Option<String>,
    /// Only of this workload
    #[arg(long)]
    pub(crate) workload: Option<String>,
    /// Only of this failure group
    #[arg(long, value_name = "FINGERPRINT")]
    pub(crate) group: Option<String>,
    /// Only of this owner
    #[arg(long)]
    pub(crate) owner: Option<String>,
    /// Only those that died since this instant, or within so long: 2026-01-31T08:00:00Z, 2026-01-31, 7d, 12h
    #[arg(long, value_name = "WHEN", value_parser = when::past)]
    pub(crate) since: Option<Timestamp>,
    /// Only those that died before this instant, or so long ago
    #[arg(long, value_name = "WHEN", value_parser = when::past)]
    pub(crate) until: Option<Timestamp>,
    /// Only in this state: open, replayed, discarded [default: open]
    #[arg(long)]
    pub(crate) state: Option<String>,
}

/// How dead letters are written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// One JSON object per line
    Json,
    /// Protobuf messages `DeadLetterTask`, each behind its length
    Protobuf,
}

/// Which dead letters to start again, and how.
#[derive(Debug, Group)]
pub(crate) struct ReplayDead {
    /// Single ones: their offsets
    #[arg(value_name = "OFFSET", conflicts_with_all = WORDS, conflicts_with_all = HOW)]
    pub(crate) offsets: Vec<String>,
    #[command(flatten)]
    pub(crate) which: WhichOpen,
    /// Only count them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// So many are tried first, and must have ended before the rest follows; 0 for none [default: 3]
    #[arg(long, value_name = "N", help_heading = "How many are replayed")]
    pub(crate) canary: Option<u32>,
    /// So many per second, at most 500 [default: 5]
    #[arg(long, value_name = "N", help_heading = "How many are replayed")]
    pub(crate) rate: Option<u32>,
    /// Stop when more than this share of those that ended has failed again; 1 never stops [default: 0.2]
    #[arg(long, value_name = "SHARE", help_heading = "How many are replayed")]
    pub(crate) stop_share: Option<f64>,
    /// What people call the replay
    #[arg(long, value_name = "TEXT", help_heading = "How many are replayed")]
    pub(crate) name: Option<String>,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print one JSON object per job or replay; with --dry-run per workload
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

/// Which dead letters to discard.
#[derive(Debug, Group)]
pub(crate) struct DiscardDead {
    /// Single ones: their offsets
    #[arg(value_name = "OFFSET", conflicts_with_all = WORDS)]
    pub(crate) offsets: Vec<String>,
    #[command(flatten)]
    pub(crate) which: WhichOpen,
    /// Only show or count them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print one JSON object per dead letter; of many one that says how many
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

/// How many are replayed; offsets are started at once.
const HOW: [&str; 4] = ["canary", "rate", "stop_share", "name"];

/// The words of [`WhichOpen`]; offsets need none of them.
const WORDS: [&str; 9] = ["all", "code", "group", "workload", "owner", "target", "search", "since", "until"];

/// Which open dead letters are meant. Each word narrows it.
#[derive(Debug, Group)]
pub(crate) struct WhichOpen {
    /// All that are open
    #[arg(long, help_heading = "Which of them")]
    pub(crate) all: bool,
    /// Only with this code
    #[arg(long, help_heading = "Which of them")]
    pub(crate) code: Option<String>,
    /// Only of this failure group
    #[arg(long, value_name = "FINGERPRINT", help_heading = "Which of them")]
    pub(crate) group: Option<String>,
    /// Only of this workload
    #[arg(long, value_name = "NAME", help_heading = "Which of them")]
    pub(crate) workload: Option<String>,
    /// Only of this owner
    #[arg(long, help_heading = "Which of them")]
    pub(crate) owner: Option<String>,
    /// Only of jobs that depend on this target
    #[arg(long, help_heading = "Which of them")]
    pub(crate) target: Option<String>,
    /// Only with this text in the message or the label
    #[arg(long, value_name = "TEXT", help_heading = "Which of them")]
    pub(crate) search: Option<String>,
    /// Only those that died since this instant, or within so long: 2026-01-31T08:00:00Z, 2026-01-31, 7d, 12h
    #[arg(long, value_name = "WHEN", value_parser = when::past, help_heading = "Which of them")]
    pub(crate) since: Option<Timestamp>,
    /// Only those that died before this instant, or so long ago
    #[arg(long, value_name = "WHEN", value_parser = when::past, help_heading = "Which of them")]
    pub(crate) until: Option<Timestamp>,
}

impl WhichOpen {
    /// Nothing was said, not even that all are meant.
    pub(crate) fn is_unsaid(&self) -> bool {
        let Self { all, code, group, workload, owner, target, search, since, until } = self;
        let words = [code, group, workload, owner, target, search];
        !all && words.into_iter().all(Option::is_none) && since.or(*until).is_none()
    }
}

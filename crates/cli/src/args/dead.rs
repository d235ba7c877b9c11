//! What can be asked about dead letters.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};

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
        #[arg(long, default_value_t = 50)]
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
}

impl Dead {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. } | Self::Show { flags, .. } | Self::Export { flags, .. } => flags,
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
    /// Only those that died at or after this instant, for example 2026-01-31T08:00:00Z
    #[arg(long, value_name = "INSTANT")]
    pub(crate) since: Option<String>,
    /// Only those that died before this instant
    #[arg(long, value_name = "INSTANT")]
    pub(crate) until: Option<String>,
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

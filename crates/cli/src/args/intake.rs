//! What can be asked about the folder or bucket of people.

use clap::Subcommand;

use crate::settings::Flags;
use crate::settings::table::CLIENT;

/// What to do with intake.
#[derive(Debug, Subcommand)]
pub(crate) enum Intake {
    /// Say what waits, what is in work, what failed, and what holds it up
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Say so again whenever something changes
    Watch {
        /// Print one JSON object for each change
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Try each PDF again so often, from now on
    SetMaxRetries {
        /// How often: 0 to 1000
        #[arg(value_name = "N")]
        retries: u32,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Give places back that are taken for nothing: documents whose job has ended unheard
    ClearInflight {
        /// Only say how many
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Write a report about one document, whatever became of it, and say where it lies
    Report {
        /// Its id, its path below queue/, or where it lies now
        #[arg(value_name = "DOCUMENT")]
        document: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Take nothing and begin nothing until it is resumed; what runs goes on
    Pause {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// End a pause
    Resume {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
}

impl Intake {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::Status { flags, .. }
            | Self::Watch { flags, .. }
            | Self::SetMaxRetries { flags, .. }
            | Self::ClearInflight { flags, .. }
            | Self::Report { flags, .. }
            | Self::Pause { flags, .. }
            | Self::Resume { flags, .. } => flags,
        }
    }
}

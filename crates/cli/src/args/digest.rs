//! What can be asked about digests, and who gets them.

use clap::Subcommand;

use super::when;
use crate::settings::Flags;
use crate::settings::table::CLIENT;

/// What to do with the digest.
#[derive(Debug, Subcommand)]
pub(crate) enum Digest {
    /// Show what each owner would be told now; nothing is sent
    Preview {
        /// Only of this owner
        #[arg(long)]
        owner: Option<String>,
        /// Print one JSON object per owner
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Send it now, beside those of the schedule; nothing is sent when nothing changed
    Send {
        /// Only say to how many owners
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object per owner
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// List how digests went, newest first: sent, tried again, given up
    Deliveries {
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = when::rows)]
        limit: usize,
        /// Print one JSON object per delivery
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
}

impl Digest {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::Preview { flags, .. } | Self::Send { flags, .. } | Self::Deliveries { flags, .. } => flags,
        }
    }
}

/// What to do with addresses.
#[derive(Debug, Subcommand)]
pub(crate) enum Notifications {
    /// List who is told, by which address
    List {
        /// Print one JSON object per address
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Add an address for an owner
    Add(One),
    /// Remove an address of an owner
    Remove(One),
    /// Send digests to an address again
    Enable(One),
    /// Send none to an address for now; what would be told waits
    Disable(One),
}

/// One address.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// Who uploaded the files; `default` stands for all owners without an address of their own
    pub(crate) owner: String,
    /// A mail address
    pub(crate) address: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<CLIENT>,
}

impl Notifications {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. } => flags,
            Self::Add(one) | Self::Remove(one) | Self::Enable(one) | Self::Disable(one) => &one.flags,
        }
    }
}

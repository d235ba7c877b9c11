//! What can be done with operators' tokens. A token itself is never an argument: other people of the machine can read a command line.

use clap::{Subcommand, ValueEnum};
use jiff::Timestamp;

use super::when;
use crate::settings::Flags;
use crate::settings::table::CLIENT;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum Tokens {
    /// List all tokens, the newest first: what they may do, until when, and when they were last used
    List {
        /// Print one JSON object per token
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Make a token and print it, this once
    Add {
        /// How it is called in lists and in the audit trail
        #[arg(long)]
        name: String,
        /// What it may do; each may also do what stands before it
        #[arg(long)]
        scope: Scope,
        /// When it stops to be good: an instant, or a time from now such as 30d [default: never]
        #[arg(long, value_name = "WHEN", value_parser = when::coming)]
        expires: Option<Timestamp>,
        /// Print one JSON object with the token and what is known of it
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
    /// Take tokens back, at once and for good; browsers that signed in with them are signed out
    Revoke {
        /// Their ids, as the list shows them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Why, for the audit trail
        #[arg(long)]
        reason: Option<String>,
        /// Print one JSON object per token
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags<CLIENT>,
    },
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Look at everything
    Read,
    /// Retry, cancel, replay, discard, hold, drain
    Act,
    /// Change settings, tokens, who is told
    Admin,
}

impl Scope {
    /// Its word on the wire.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Act => "act",
            Self::Admin => "admin",
        }
    }
}

impl Tokens {
    /// The settings that were given.
    pub(crate) fn flags(&self) -> &Flags<CLIENT> {
        match self {
            Self::List { flags, .. } | Self::Add { flags, .. } | Self::Revoke { flags, .. } => flags,
        }
    }
}

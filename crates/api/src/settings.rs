//! What a server runs with, and how it is: settings with their origins, and the doctor's findings. For operators.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every setting as it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SettingList {
    /// All of them, in the order of the documentation.
    pub settings: Vec<Setting>,
    /// The pools of proxies.
    pub proxy_pools: Vec<ProxyPool>,
    /// What is worth a look and stops nothing: settings that nobody uses, names that are nearly one.
    pub warnings: Vec<String>,
}

/// One setting. Secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What it belongs to.
    pub section: String,
    /// Its value; absent while it is unset.
    pub value: Option<String>,
    /// What holds while it is unset.
    pub unset: Option<String>,
    /// Where the value came from: store (changed at run time), flag, env, file, demo or default.
    pub origin: String,
    /// More about the origin: file and line.
    pub at: Option<String>,
    /// What holds unless it is set.
    pub default: Option<String>,
    /// It is a secret, and its value is masked.
    pub secret: bool,
    /// Somebody uses it.
    pub used: bool,
    /// What it is.
    pub about: String,
}

/// Proxies that a manifest may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProxyPool {
    /// Its name.
    pub name: String,
    /// How many it has.
    pub proxies: usize,
    /// Whose are used when none of them works.
    pub fallbacks: Vec<String>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingLevel {
    /// As it must be.
    Good,
    /// Worth knowing.
    Note,
    /// Wrong.
    Bad,
}

/// One thing that the doctor looked at: how it is, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// What was looked at.
    pub check: String,
    /// How it is.
    pub level: FindingLevel,
    /// In words.
    pub what: String,
    /// The next step, where one is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Finding {
    /// As it must be.
    pub fn good(check: &str, what: impl Into<String>) -> Self {
        Self { check: check.to_owned(), level: FindingLevel::Good, what: what.into(), next: None }
    }

    /// Worth knowing, with the next step.
    pub fn note(check: &str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { level: FindingLevel::Note, next: Some(next.into()), ..Self::good(check, what) }
    }

    /// Wrong, with the next step.
    pub fn bad(check: &str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { level: FindingLevel::Bad, next: Some(next.into()), ..Self::good(check, what) }
    }
}

impl fmt::Display for Finding {
    /// Two lines at most, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.level {
            FindingLevel::Good => "✓",
            FindingLevel::Note => "!",
            FindingLevel::Bad => "✗",
        };
        write!(f, "{mark} {:<10} {}", self.check, self.what)?;
        match &self.next {
            Some(next) => write!(f, "\n             → {next}"),
            None => Ok(()),
        }
    }
}

/// The newest examination, and whether another one is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Examination {
    /// Since when one is under way; absent while none is.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub running_since: Option<Timestamp>,
    /// When the newest one ended; absent while there was none since the start.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// Nothing was found wrong; absent while there was none.
    pub well: Option<bool>,
    /// What it found.
    pub findings: Vec<Finding>,
}

//! What the handlers share.

use std::path::PathBuf;

use super::Settings;
use super::gate::Gate;
use super::health::Health;
use crate::cage::Cage;

/// One running gateway.
#[derive(Debug)]
pub(super) struct Gateway {
    pub(super) cage: Cage,
    pub(super) gate: Gate,
    pub(super) health: Health,
}

impl Gateway {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            cage: Cage::new(settings.cage.clone()),
            gate: Gate::new(settings.children, settings.line, settings.patience),
            health: Health::default(),
        }
    }

    /// The largest file.
    pub(super) fn limit(&self) -> u64 {
        self.cage.settings().input
    }

    /// Where unlinked files lie.
    pub(super) fn folder(&self) -> PathBuf {
        self.cage.settings().temp_dir.clone()
    }
}

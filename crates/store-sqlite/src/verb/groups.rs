//! Failures of one call, counted per group and written once: a thousand jobs that fail alike touch their group's row once.

use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Failure, JobId, Target, WorkloadName};
use redrive_store::Result;
use rusqlite::params;

use super::record::execute;
use crate::row::blob;
use crate::sql;
use crate::writer::Tx;

/// The groups that a call touches, in the order in which it met them. There are few: a call has a handful of causes.
#[derive(Default)]
pub(crate) struct Groups<'a>(Vec<Group<'a>>);

struct Group<'a> {
    fingerprint: &'a Fingerprint,
    workload: WorkloadName,
    target: Option<&'a Target>,
    /// The newest failure stands for the group.
    failure: &'a Failure,
    sample: JobId,
    failures: i64,
    dead: i64,
}

impl<'a> Groups<'a> {
    /// Counts a failed attempt, and a dead letter where it became one.
    pub(crate) fn count(
        &mut self,
        job: JobId,
        workload: &WorkloadName,
        failure: &'a Failure,
        fingerprint: &'a Fingerprint,
        target: Option<&'a Target>,
        died: bool,
    ) {
        let dead = i64::from(died);
        match self.0.iter_mut().find(|group| group.fingerprint == fingerprint) {
            Some(group) => {
                group.failure = failure;
                group.sample = job;
                group.failures += 1;
                group.dead += dead;
            }
            None => self.0.push(Group {
                fingerprint,
                workload: workload.clone(),
                target,
                failure,
                sample: job,
                failures: 1,
                dead,
            }),
        }
    }

    /// Writes them.
    pub(crate) fn write(self, tx: &Tx<'_>) -> Result<()> {
        for group in self.0 {
            execute(
                tx.conn,
                sql::UPSERT_GROUP,
                params![
                    group.fingerprint.as_str(),
                    group.workload.as_str(),
                    group.failure.code.name(),
                    group.target.map(Target::as_str),
                    group.failure.message,
                    blob(group.sample.as_uuid()),
                    tx.now,
                    group.failures,
                    group.dead
                ],
            )?;
        }
        Ok(())
    }
}

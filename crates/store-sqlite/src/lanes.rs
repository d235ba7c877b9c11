//! Interned lanes, kept in memory by the writer, which alone adds and removes them.

use std::collections::HashMap;

use redrive_model::{TargetSet, WorkloadName};
use redrive_store::{Result, StoreError};
use rusqlite::{Connection, params};

use crate::error::store_error;

/// What makes two jobs share a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    pub(crate) workload: WorkloadName,
    pub(crate) targets: TargetSet,
    pub(crate) priority: u8,
    pub(crate) alone: bool,
}

/// All lanes there are.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    by_key: HashMap<LaneKey, i64>,
    by_id: HashMap<i64, LaneKey>,
    by_workload: HashMap<WorkloadName, Vec<i64>>,
    cursor: i64,
}

impl Lanes {
    /// Reads them all.
    pub(crate) fn load(conn: &Connection) -> Result<Self> {
        let mut lanes = Self::default();
        let mut statement = conn
            .prepare_cached("SELECT id, workload, targets, priority, alone FROM lanes")
            .map_err(store_error)?;
        let mut rows = statement.query([]).map_err(store_error)?;
        while let Some(row) = rows.next().map_err(store_error)? {
            let get = |n: usize| row.get::<_, String>(n).map_err(store_error);
            let key = LaneKey {
                workload: WorkloadName::new(get(1)?).map_err(damaged)?,
                targets: TargetSet::from_key(&get(2)?).map_err(damaged)?,
                priority: row.get(3).map_err(store_error)?,
                alone: row.get(4).map_err(store_error)?,
            };
            lanes.remember(row.get(0).map_err(store_error)?, key);
        }
        Ok(lanes)
    }

    /// The lane of this key, made if it is new.
    pub(crate) fn intern(&mut self, conn: &Connection, key: &LaneKey) -> Result<i64> {
        if let Some(id) = self.by_key.get(key) {
            return Ok(*id);
        }
        let id: i64 = conn
            .prepare_cached(
                "INSERT INTO lanes (workload, targets, priority, alone) VALUES (?1, ?2, ?3, ?4) RETURNING id",
            )
            .and_then(|mut s| {
                s.query_row(
                    params![key.workload.as_str(), key.targets.key(), key.priority, key.alone],
                    |row| row.get(0),
                )
            })
            .map_err(store_error)?;
        for target in key.targets.iter() {
            conn.prepare_cached("INSERT INTO lane_targets (lane, target) VALUES (?1, ?2)")
                .and_then(|mut s| s.execute(params![id, target.as_str()]))
                .map_err(store_error)?;
        }
        self.remember(id, key.clone());
        Ok(id)
    }

    /// What a lane stands for.
    pub(crate) fn get(&self, id: i64) -> Result<&LaneKey> {
        self.by_id.get(&id).ok_or_else(|| StoreError::Internal(format!("lane {id} is not known")))
    }

    /// The lanes of a workload.
    pub(crate) fn of(&self, workload: &WorkloadName) -> &[i64] {
        self.by_workload.get(workload).map_or(&[], Vec::as_slice)
    }

    /// Where the last walk over lanes ended.
    pub(crate) const fn cursor(&self) -> i64 {
        self.cursor
    }

    /// Remembers where a walk ended.
    pub(crate) const fn set_cursor(&mut self, at: i64) {
        self.cursor = at;
    }

    /// The lane was removed.
    pub(crate) fn forget(&mut self, id: i64) {
        let Some(key) = self.by_id.remove(&id) else { return };
        self.by_key.remove(&key);
        if let Some(lanes) = self.by_workload.get_mut(&key.workload) {
            lanes.retain(|lane| *lane != id);
        }
    }

    fn remember(&mut self, id: i64, key: LaneKey) {
        self.by_workload.entry(key.workload.clone()).or_default().push(id);
        self.by_key.insert(key.clone(), id);
        self.by_id.insert(id, key);
    }
}

fn damaged(error: impl std::fmt::Display) -> StoreError {
    StoreError::Refused(format!("the database has a lane that cannot be read: {error}"))
}

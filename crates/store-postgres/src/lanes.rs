//! Interned lanes, remembered by the process. What a lane stands for never changes; that it is there may: one without jobs is
//! removed, and who enqueues into it all the same is refused by the schema ([`is_gone`]) and asks again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use redrive_model::{TargetSet, WorkloadName};
use sqlx::{PgConnection, PgPool, Row};

use crate::row;
use crate::sql::Sql;

/// What makes two jobs share a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    pub(crate) workload: WorkloadName,
    pub(crate) targets: TargetSet,
    pub(crate) priority: u8,
}

/// A lane as its jobs need it.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) workload: WorkloadName,
    pub(crate) targets: TargetSet,
    pub(crate) priority: i16,
    pub(crate) alone: bool,
}

/// Lanes this process has met.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    by_key: RwLock<HashMap<LaneKey, i32>>,
    by_id: RwLock<HashMap<i32, Arc<Lane>>>,
}

/// Whether a lane that was remembered has been removed meanwhile.
pub(crate) fn is_gone(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(db) if db.constraint() == Some("tallies_lane_is_there"))
}

impl Lanes {
    /// Asks for every lane again.
    pub(crate) fn forget(&self) {
        self.by_key.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.by_id.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Asks for every lane again when one of them was gone.
    pub(crate) fn hear<T>(&self, answer: sqlx::Result<T>) -> sqlx::Result<T> {
        answer.inspect_err(|error| {
            if is_gone(error) {
                self.forget();
            }
        })
    }

    /// What these lanes stand for; asks only for those it has not met.
    pub(crate) async fn get(
        &self,
        conn: &mut PgConnection,
        sql: &Sql,
        ids: &HashSet<i32>,
    ) -> sqlx::Result<HashMap<i32, Arc<Lane>>> {
        let known = |by_id: &HashMap<i32, Arc<Lane>>| -> HashMap<i32, Arc<Lane>> {
            ids.iter().filter_map(|id| Some((*id, by_id.get(id)?.clone()))).collect()
        };
        let mut lanes = known(&self.by_id.read().unwrap_or_else(PoisonError::into_inner));
        if lanes.len() < ids.len() {
            let missing: Vec<i32> = ids.iter().copied().filter(|id| !lanes.contains_key(id)).collect();
            for row in sqlx::query(sql.lanes.text()).bind(missing).fetch_all(conn).await? {
                let lane = Lane {
                    workload: row::checked(&row, 1, str::parse::<WorkloadName>)?,
                    targets: row::checked(&row, 2, TargetSet::from_key)?,
                    priority: row.try_get(3)?,
                    alone: row.try_get(4)?,
                };
                lanes.insert(row.try_get(0)?, Arc::new(lane));
            }
            let mut by_id = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
            by_id.extend(lanes.iter().map(|(id, lane)| (*id, lane.clone())));
        }
        Ok(lanes)
    }

    /// The lane of this key, made if it is new. A lane that nobody uses in the end does no harm.
    pub(crate) async fn intern(&self, pool: &PgPool, sql: &Sql, key: &LaneKey) -> sqlx::Result<i32> {
        if let Some(id) = self.by_key.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Ok(*id);
        }
        let id = make(pool, sql, key).await?;
        self.by_key.write().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), id);
        Ok(id)
    }
}

async fn make(pool: &PgPool, sql: &Sql, key: &LaneKey) -> sqlx::Result<i32> {
    let mut tx = pool.begin().await?;
    let targets = key.targets.key();
    let priority = i16::from(key.priority);
    let made: Option<i32> = sqlx::query_scalar(sql.intern_lane.text())
        .bind(key.workload.as_str())
        .bind(&targets)
        .bind(priority)
        .bind(false)
        .fetch_optional(&mut *tx)
        .await?;
    let id = match made {
        Some(id) => id,
        None => {
            sqlx::query_scalar(sql.find_lane.text())
                .bind(key.workload.as_str())
                .bind(&targets)
                .bind(priority)
                .bind(false)
                .fetch_one(&mut *tx)
                .await?
        }
    };
    let names: Vec<&str> = key.targets.iter().map(|t| t.as_str()).collect();
    sqlx::query(sql.lane_target.text()).bind(id).bind(names).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(id)
}

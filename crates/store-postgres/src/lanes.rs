//! Interned lanes, remembered by the process. Rows are only ever added, so what is remembered stays true.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use redrive_model::{TargetSet, WorkloadName};
use sqlx::PgPool;

use crate::sql::Sql;

/// What makes two jobs share a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    pub(crate) workload: WorkloadName,
    pub(crate) targets: TargetSet,
    pub(crate) priority: u8,
}

/// Lanes this process has met.
#[derive(Debug, Default)]
pub(crate) struct Lanes(RwLock<HashMap<LaneKey, i32>>);

impl Lanes {
    /// The lane of this key, made if it is new. A lane that nobody uses in the end does no harm.
    pub(crate) async fn intern(&self, pool: &PgPool, sql: &Sql, key: &LaneKey) -> sqlx::Result<i32> {
        if let Some(id) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Ok(*id);
        }
        let id = make(pool, sql, key).await?;
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), id);
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

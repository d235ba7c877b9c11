//! Taking work.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use redrive_model::limits::MAX_CLAIM;
use redrive_model::{JobId, LeaseToken, TargetSet, WorkerId, WorkloadName, instant};
use redrive_store::{Claim, ClaimMode, Claimed, Lease, StoredFacts};
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, Row, SqlSafeStr};
use uuid::Uuid;

use crate::row;
use crate::store::Inner;

/// Steps of the walk from lane to lane in one claim.
const WALK: i32 = 256;

/// Takes up to `limit` jobs. With more lanes than one walk sees, the next claim goes on where this one stopped.
pub(crate) async fn claim(inner: &Inner, claim: &Claim) -> sqlx::Result<Vec<Claimed>> {
    let single = claim.mode != ClaimMode::Normal;
    let limit = if single { claim.limit.min(1) } else { claim.limit.min(MAX_CLAIM) };
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut lent = inner.hot.take().await?;
    let claimed = around(lent.conn(), inner, claim, limit).await;
    lent.settle(claimed)
}

async fn around(
    conn: &mut PgConnection,
    inner: &Inner,
    claim: &Claim,
    limit: usize,
) -> sqlx::Result<Vec<Claimed>> {
    let from = inner.cursor.load(Ordering::Relaxed);
    let mut claimed = walk(conn, inner, claim, limit, from).await?;
    if from > 0 && claimed.len() < limit {
        let rest = limit - claimed.len();
        claimed.extend(walk(conn, inner, claim, rest, 0).await?);
    }
    Ok(claimed)
}

async fn walk(
    conn: &mut PgConnection,
    inner: &Inner,
    claim: &Claim,
    limit: usize,
    from: i32,
) -> sqlx::Result<Vec<Claimed>> {
    let (names, rooms) = wants(claim);
    let rows = ask(inner.sql.claim.text(), claim, &names, &rooms, limit, from).fetch_all(&mut *conn).await?;
    let mut claimed = rows.iter().filter_map(|r| placed(r).transpose()).collect::<sqlx::Result<Vec<_>>>()?;
    claimed.sort_unstable_by_key(|(place, _)| *place);
    let claimed = claimed.into_iter().map(|(_, claimed)| claimed).collect();
    let Some(first) = rows.first() else { return Ok(claimed) };
    let steps: i64 = first.try_get(2)?;
    let last: Option<i32> = first.try_get(1)?;
    let stopped = if steps >= i64::from(WALK) { last.unwrap_or(0) } else { 0 };
    inner.cursor.store(stopped, Ordering::Relaxed);
    let ramps: i64 = first.try_get(0)?;
    if ramps > 0 { ramp(conn, inner, claim, limit, from).await } else { Ok(claimed) }
}

/// While some target admits only so many at once: locks those targets, so that two claims do not both use the same room,
/// and chooses among the heads of all lanes in their order.
async fn ramp(
    conn: &mut PgConnection,
    inner: &Inner,
    claim: &Claim,
    limit: usize,
    from: i32,
) -> sqlx::Result<Vec<Claimed>> {
    let mut tx = conn.begin().await?;
    let mut room: HashMap<String, usize> = HashMap::new();
    for gate in sqlx::query(inner.sql.lock_ramps.text()).fetch_all(&mut *tx).await? {
        let target: String = gate.try_get(0)?;
        let running: i64 =
            sqlx::query_scalar(inner.sql.running_of_target.text()).bind(&target).fetch_one(&mut *tx).await?;
        let left = i64::from(gate.try_get::<i32, _>(1)?) - running;
        room.insert(target, usize::try_from(left).unwrap_or(0));
    }
    let (names, rooms) = wants(claim);
    let mut wanted: HashMap<String, usize> =
        claim.wants.iter().map(|w| (w.workload.to_string(), w.limit)).collect();
    let heads =
        ask(inner.sql.claim_heads.text(), claim, &names, &rooms, limit, from).fetch_all(&mut *tx).await?;
    let mut chosen: Vec<Uuid> = Vec::new();
    for head in &heads {
        if chosen.len() == limit {
            break;
        }
        let (workload, targets): (String, String) = (head.try_get(1)?, head.try_get(2)?);
        let targets: Vec<&str> = targets.split(',').filter(|t| !t.is_empty()).collect();
        let full = targets.iter().any(|t| room.get(*t) == Some(&0));
        match wanted.get_mut(&workload) {
            Some(left) if *left > 0 && !full => *left -= 1,
            Some(_) | None => continue,
        }
        for target in targets {
            if let Some(left) = room.get_mut(target) {
                *left -= 1;
            }
        }
        chosen.push(head.try_get(0)?);
    }
    let rows = sqlx::query(inner.sql.claim_chosen.text())
        .bind(chosen)
        .bind(claim.worker.as_uuid())
        .bind(instant::add_ms(0, claim.ttl))
        .bind(probe(claim).is_some())
        .fetch_all(&mut *tx)
        .await?;
    tx.commit().await?;
    rows.iter().filter_map(|r| job(r).transpose()).collect()
}

/// The target that is probed, if this is a probe.
fn probe(claim: &Claim) -> Option<&str> {
    match &claim.mode {
        ClaimMode::Probe(target) => Some(target.as_str()),
        ClaimMode::Normal | ClaimMode::Alone => None,
    }
}

type Question<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// The walk's parameters, which both ways of claiming share.
fn ask<'q>(
    statement: impl SqlSafeStr,
    claim: &'q Claim,
    names: &'q [&str],
    rooms: &'q [i64],
    limit: usize,
    from: i32,
) -> Question<'q> {
    sqlx::query(statement)
        .bind(claim.worker.as_uuid())
        .bind(names)
        .bind(rooms)
        .bind(number(limit))
        .bind(instant::add_ms(0, claim.ttl))
        .bind(claim.mode == ClaimMode::Alone)
        .bind(from)
        .bind(WALK)
        .bind(probe(claim))
        .bind(claim.full.iter().map(|t| t.as_str()).collect::<Vec<_>>())
}

fn wants(claim: &Claim) -> (Vec<&str>, Vec<i64>) {
    claim.wants.iter().filter(|w| w.limit > 0).map(|w| (w.workload.as_str(), number(w.limit))).unzip()
}

fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// What a worker holds.
pub(crate) async fn leases_of(inner: &Inner, worker: WorkerId) -> sqlx::Result<Vec<Claimed>> {
    let rows = sqlx::query(inner.sql.leases_of.text()).bind(worker.as_uuid()).fetch_all(&inner.pool).await?;
    rows.iter().filter_map(|r| job(r).transpose()).collect()
}

/// Priority, due time, id: the order of the queue.
type Place = (i16, i64, JobId);

fn placed(r: &PgRow) -> sqlx::Result<Option<(Place, Claimed)>> {
    let Some(claimed) = job(r)? else { return Ok(None) };
    Ok(Some(((r.try_get(7)?, r.try_get(21)?, claimed.lease.job), claimed)))
}

fn job(r: &PgRow) -> sqlx::Result<Option<Claimed>> {
    let Some(id) = r.try_get::<Option<Uuid>, _>(3)? else { return Ok(None) };
    let facts = StoredFacts {
        attempt: row::count(r, 10)?,
        crashes: row::count(r, 13)?,
        releases: row::count(r, 14)?,
        spent: r.try_get(15)?,
        alone: r.try_get(6)?,
        probe: r.try_get(20)?,
        queued_at: row::at(r, 17)?,
    };
    Ok(Some(Claimed {
        lease: Lease { job: JobId::from_uuid(id), token: LeaseToken(r.try_get(9)?) },
        workload: row::checked(r, 4, str::parse::<WorkloadName>)?,
        owner: row::owner(r, 8)?,
        label: r.try_get(22)?,
        // A job whose payload is gone runs with an empty input and fails as undecodable, rather than never.
        input: r.try_get::<Option<Vec<u8>>, _>(23)?.unwrap_or_default(),
        state: r.try_get(24)?,
        targets: row::checked(r, 5, TargetSet::from_key)?,
        generation: row::count(r, 12)?,
        max_attempts: row::opt_count(r, 11)?,
        batch: row::batch(r, 16)?,
        facts: facts.into(),
        claimed_at: row::at(r, 18)?,
        expires_at: row::at(r, 19)?,
    }))
}

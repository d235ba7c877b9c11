//! Taking work.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use redrive_model::limits::MAX_CLAIM;
use redrive_model::{JobId, LeaseToken, Target, WorkerId, instant};
use redrive_store::{Claim, ClaimMode, Claimed, Lease, StoredFacts, Want};
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, Row, SqlSafeStr};
use uuid::Uuid;

use crate::hot::Use;
use crate::lanes::Lane;
use crate::row;
use crate::store::Inner;

/// Steps of the walk from lane to lane in one claim.
const WALK: i32 = 256;

/// Takes up to `limit` jobs. With more lanes than one walk sees, the next claim goes on where this one stopped.
pub(crate) async fn claim(inner: &Inner, claim: &Claim) -> sqlx::Result<Vec<Claimed>> {
    let limit = limit(claim);
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut lent = inner.hot.take(Use::Claim).await?;
    let claimed = around(lent.conn(), inner, claim, limit).await;
    lent.settle(claimed)
}

fn limit(claim: &Claim) -> usize {
    let most = if claim.mode == ClaimMode::Normal { MAX_CLAIM } else { 1 };
    claim.limit.min(most)
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
    let claimed = read(conn, inner, &rows).await?;
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
    for (target, here) in &claim.rooms {
        let left = room.entry(target.to_string()).or_insert(*here);
        *left = (*left).min(*here);
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
    let claimed = read(&mut tx, inner, &rows).await?;
    tx.commit().await?;
    Ok(claimed)
}

/// The targets that are probed, if this is a probe.
fn probe(claim: &Claim) -> Option<Vec<&str>> {
    match &claim.mode {
        ClaimMode::Probe(targets) => Some(targets.iter().map(Target::as_str).collect()),
        ClaimMode::Normal | ClaimMode::Alone => None,
    }
}

pub(crate) type Question<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

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
        .bind(claim.rooms.iter().map(|(t, _)| t.as_str()).collect::<Vec<_>>())
        .bind(claim.rooms.iter().map(|(_, room)| number(*room)).collect::<Vec<_>>())
        .bind(wanted(claim).map(|w| w.per_target.map(|each| number(each.limit))).collect::<Vec<_>>())
        .bind(wanted(claim).map(|w| w.per_target.and_then(|each| each.kind)).collect::<Vec<_>>())
}

fn wants(claim: &Claim) -> (Vec<&str>, Vec<i64>) {
    wanted(claim).map(|w| (w.workload.as_str(), number(w.limit))).unzip()
}

fn wanted(claim: &Claim) -> impl Iterator<Item = &Want> {
    claim.wants.iter().filter(|w| w.limit > 0)
}

fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// What a worker holds.
pub(crate) async fn leases_of(inner: &Inner, worker: WorkerId) -> sqlx::Result<Vec<Claimed>> {
    let mut conn = inner.pool.acquire().await?;
    let rows = sqlx::query(inner.sql.leases_of.text()).bind(worker.as_uuid()).fetch_all(&mut *conn).await?;
    let mut held = read(&mut conn, inner, &rows).await?;
    held.sort_unstable_by_key(|claimed| claimed.lease.job);
    Ok(held)
}

/// The jobs of these rows, in the order of the queue: priority, due time, id.
async fn read(conn: &mut PgConnection, inner: &Inner, rows: &[PgRow]) -> sqlx::Result<Vec<Claimed>> {
    let ids = rows.iter().filter_map(|r| r.try_get::<Option<i32>, _>(4).transpose());
    let ids = ids.collect::<sqlx::Result<HashSet<i32>>>()?;
    let lanes = inner.lanes.get(conn, &inner.sql, &ids).await?;
    let mut claimed: Vec<((i16, i64), Claimed)> = Vec::with_capacity(rows.len());
    for r in rows {
        let Some(id) = r.try_get::<Option<Uuid>, _>(3)? else { continue };
        let lane = lanes.get(&r.try_get(4)?).ok_or(sqlx::Error::RowNotFound)?;
        claimed.push(((lane.priority, r.try_get(18)?), job(r, id, lane)?));
    }
    claimed.sort_unstable_by_key(|(place, claimed)| (*place, claimed.lease.job));
    Ok(claimed.into_iter().map(|(_, claimed)| claimed).collect())
}

fn job(r: &PgRow, id: Uuid, lane: &Lane) -> sqlx::Result<Claimed> {
    let facts = StoredFacts {
        attempt: row::count(r, 7)?,
        crashes: row::count(r, 10)?,
        releases: row::count(r, 11)?,
        spent: r.try_get(12)?,
        alone: lane.alone,
        probe: r.try_get(17)?,
        queued_at: row::at(r, 14)?,
    };
    Ok(Claimed {
        lease: Lease { job: JobId::from_uuid(id), token: LeaseToken(r.try_get(6)?) },
        workload: lane.workload.clone(),
        owner: row::owner(r, 5)?,
        label: r.try_get(19)?,
        // A job whose payload is gone runs with an empty input and fails as undecodable, rather than never.
        input: r.try_get::<Option<Vec<u8>>, _>(20)?.unwrap_or_default(),
        state: r.try_get(21)?,
        targets: lane.targets.clone(),
        generation: row::count(r, 9)?,
        max_attempts: row::opt_count(r, 8)?,
        batch: row::batch(r, 13)?,
        facts: facts.into(),
        claimed_at: row::at(r, 15)?,
        expires_at: row::at(r, 16)?,
    })
}

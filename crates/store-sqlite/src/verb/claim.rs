//! Taking work.
//!
//! The claim admits or leaves alone whole lanes, so that a million held jobs cost it nothing. Within the admitted ones
//! the order is priority, due time, id. When there are very many lanes it looks at a bounded number of those that have
//! something queued, going round.

use std::collections::{HashMap, HashSet};

use redrive_model::limits::MAX_CLAIM;
use redrive_model::{JobId, LeaseToken, Target, TargetSet, WorkerId, WorkloadName, instant};
use redrive_store::{Claim, ClaimMode, Claimed, Lease, PerTarget, Result, StoredFacts, Want};
use rusqlite::params;

use super::record::{find, list};
use crate::error::store_error;
use crate::lanes::LaneKey;
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

/// With more lanes than this, only lanes that have something queued are looked at, so many per claim.
const LANES_AT_ONCE: usize = 64;
/// Steps of the walk from lane to lane.
const WALK: usize = 512;

pub(crate) fn claim(tx: &mut Tx<'_>, claim: &Claim) -> Result<Vec<Claimed>> {
    let alone = claim.mode == ClaimMode::Alone;
    let single = claim.mode != ClaimMode::Normal;
    let limit = if single { claim.limit.min(1) } else { claim.limit.min(MAX_CLAIM) };
    if limit == 0 {
        return Ok(Vec::new());
    }
    let gates = Gates::load(tx, claim)?;
    let picked = pick(tx, claim, &gates, alone, limit)?;
    let prepare = |sql| tx.conn.prepare_cached(sql).map_err(store_error);
    let (mut look, mut take) = (prepare(sql::CLAIMABLE)?, prepare(sql::CLAIM_JOB)?);
    let expires = instant::add_ms(tx.now, claim.ttl);
    let probe = matches!(claim.mode, ClaimMode::Probe(_));
    let worker = blob(claim.worker.as_uuid());
    let mut claimed = Vec::with_capacity(picked.len());
    for (_, _, id) in picked {
        let id = blob(id.as_uuid());
        let row = look.query_row(params![id], Row::read).map_err(store_error)?;
        take.execute(params![id, worker, tx.now, expires, probe]).map_err(store_error)?;
        let lease = Row {
            token: row.token + 1,
            attempt: row.attempt + 1,
            leased_at: tx.now,
            expires_at: expires,
            probe,
            ..row
        };
        claimed.push(lease.claimed(tx)?);
    }
    Ok(claimed)
}

/// Priority, due time, id: the order of the queue.
type Place = (u8, i64, JobId);

fn pick(tx: &mut Tx<'_>, claim: &Claim, gates: &Gates, alone: bool, limit: usize) -> Result<Vec<Place>> {
    let lanes = admitted(tx, claim, gates, alone)?;
    let mut places: Vec<(Place, i64)> = Vec::new();
    for &lane in &lanes {
        let key = tx.lanes.get(lane)?;
        let want = claim.wants.iter().find(|w| w.workload == key.workload);
        let room = want.map_or(0, |w| gates.room(w, key).min(limit));
        let rows = list(
            tx.conn,
            sql::READY_OF_LANE,
            params![lane, tx.now, i64::try_from(room).unwrap_or(0)],
            |row| Ok(((key.priority, row.get(1)?, row::job(row, 0)?), lane)),
        )?;
        places.extend(rows);
    }
    places.sort_unstable();
    let mut room: HashMap<&WorkloadName, usize> =
        claim.wants.iter().map(|w| (&w.workload, w.limit)).collect();
    let per_target: HashMap<&WorkloadName, PerTarget> =
        claim.wants.iter().filter_map(|w| Some((&w.workload, w.per_target?))).collect();
    let mut quota = gates.quota.clone();
    let mut picked = Vec::with_capacity(limit.min(places.len()));
    for (place, lane) in places {
        if picked.len() == limit {
            break;
        }
        let key = tx.lanes.get(lane)?;
        let Some(left) = room.get_mut(&key.workload).filter(|left| **left > 0) else { continue };
        if let Some(per_target) = per_target.get(&key.workload) {
            for target in key.targets.iter() {
                if let Some(limit) = per_target.of(target) {
                    quota.entry(target.clone()).or_insert(limit);
                }
            }
        }
        if key.targets.iter().any(|t| quota.get(t) == Some(&0)) {
            continue;
        }
        *left -= 1;
        for target in key.targets.iter() {
            if let Some(n) = quota.get_mut(target) {
                *n -= 1;
            }
        }
        picked.push(place);
    }
    Ok(picked)
}

/// The lanes this claim may take from.
fn admitted(tx: &mut Tx<'_>, claim: &Claim, gates: &Gates, alone: bool) -> Result<Vec<i64>> {
    let wanted = || claim.wants.iter().filter(|w| w.limit > 0 && !gates.paused(&w.workload));
    let passes = |key: &LaneKey| key.alone == alone && gates.admit(key, &claim.mode);
    let all = || wanted().flat_map(|w| tx.lanes.of(&w.workload).iter().copied());
    if let ClaimMode::Probe(targets) = &claim.mode {
        // They are few among many, and a walk might not come by.
        let mut lanes = Vec::new();
        for lane in all() {
            let key = tx.lanes.get(lane)?;
            if depends(key, targets) && passes(key) {
                lanes.push(lane);
            }
        }
        if lanes.len() <= LANES_AT_ONCE {
            return Ok(lanes);
        }
    } else if all().count() <= LANES_AT_ONCE {
        let mut lanes = Vec::new();
        for lane in all() {
            if passes(tx.lanes.get(lane)?) {
                lanes.push(lane);
            }
        }
        return Ok(lanes);
    }
    let wanted: HashSet<&WorkloadName> = wanted().map(|w| &w.workload).collect();
    let start = tx.lanes.cursor();
    let (mut at, mut wrapped, mut lanes) = (start, false, Vec::new());
    for _ in 0..WALK {
        match find(tx.conn, sql::NEXT_LANE, params![at], |row| row.get::<_, i64>(0))? {
            None if wrapped => break,
            None => (at, wrapped) = (0, true),
            Some(lane) if wrapped && lane > start => break,
            Some(lane) => {
                at = lane;
                let key = tx.lanes.get(lane)?;
                if wanted.contains(&key.workload) && passes(key) {
                    lanes.push(lane);
                }
            }
        }
        if lanes.len() == LANES_AT_ONCE {
            break;
        }
    }
    tx.lanes.set_cursor(at);
    Ok(lanes)
}

/// Whether jobs of this lane depend on all of them.
fn depends(key: &LaneKey, targets: &TargetSet) -> bool {
    targets.iter().all(|target| key.targets.contains(target))
}

/// What breakers, pauses and full concurrency keys say.
struct Gates {
    blocked: HashSet<Target>,
    quota: HashMap<Target, usize>,
    /// Targets whose probe this worker holds, of those that it wants to try.
    probed: HashSet<Target>,
    paused: HashSet<String>,
}

impl Gates {
    fn load(tx: &Tx<'_>, claim: &Claim) -> Result<Self> {
        let mut gates = Self {
            blocked: HashSet::new(),
            quota: claim.rooms.iter().cloned().collect(),
            probed: HashSet::new(),
            paused: list(tx.conn, sql::PAUSED, [], |row| row.get(0))?.into_iter().collect(),
        };
        let rows = list(tx.conn, sql::GATES, params![tx.now], |row| {
            let target = row::checked(row, 0, str::parse::<Target>)?;
            Ok((target, row.get::<_, Option<i64>>(1)?, row.get::<_, Option<i64>>(2)?, row::worker(row, 3)?))
        })?;
        for (target, blocked_until, admits, probe) in rows {
            let tried = matches!(&claim.mode, ClaimMode::Probe(targets) if targets.contains(&target));
            if tried && probe == Some(claim.worker) {
                gates.probed.insert(target);
            } else if blocked_until.is_some_and(|until| until > tx.now) {
                gates.blocked.insert(target);
            } else if let Some(admits) = admits {
                let running: i64 =
                    find(tx.conn, sql::RUNNING_OF_TARGET, params![target.as_str()], |row| row.get(0))?
                        .unwrap_or(0);
                let room = usize::try_from(admits - running).unwrap_or(0);
                let here = gates.quota.entry(target).or_insert(room);
                *here = room.min(*here);
            }
        }
        Ok(gates)
    }

    /// Most jobs of this lane that may be taken.
    fn room(&self, want: &Want, key: &LaneKey) -> usize {
        let of = |target| self.quota.get(target).copied().or_else(|| want.per_target?.of(target));
        key.targets.iter().filter_map(of).fold(want.limit, usize::min)
    }

    fn paused(&self, workload: &WorkloadName) -> bool {
        self.paused.contains("") || self.paused.contains(workload.as_str())
    }

    fn admit(&self, key: &LaneKey, mode: &ClaimMode) -> bool {
        let probed = match mode {
            ClaimMode::Normal | ClaimMode::Alone => true,
            ClaimMode::Probe(targets) => {
                depends(key, targets) && targets.iter().all(|target| self.probed.contains(target))
            }
        };
        probed && !key.targets.iter().any(|t| self.blocked.contains(t) || self.quota.get(t) == Some(&0))
    }
}

/// A job with what its worker needs.
struct Row {
    id: JobId,
    lane: i64,
    owner: Option<redrive_model::Owner>,
    token: i64,
    attempt: u32,
    max_attempts: Option<u32>,
    generation: u32,
    crashes: u32,
    releases: u32,
    spent: Option<String>,
    batch: Option<redrive_model::BatchId>,
    queued_at: redrive_model::Timestamp,
    leased_at: i64,
    expires_at: i64,
    probe: bool,
    label: Option<String>,
    input: Vec<u8>,
    state: Option<Vec<u8>>,
}

impl Row {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row::job(row, 0)?,
            lane: row.get(1)?,
            owner: row::owner(row, 2)?,
            token: row.get(3)?,
            attempt: row.get(4)?,
            max_attempts: row.get(5)?,
            generation: row.get(6)?,
            crashes: row.get(7)?,
            releases: row.get(8)?,
            spent: row.get(9)?,
            batch: row::batch(row, 10)?,
            queued_at: row::at(row, 11)?,
            leased_at: row.get::<_, Option<i64>>(12)?.unwrap_or_default(),
            expires_at: row.get::<_, Option<i64>>(13)?.unwrap_or_default(),
            probe: row.get(14)?,
            label: row.get(15)?,
            // A job whose payload is gone runs with an empty input and fails as undecodable, rather than never.
            input: row.get::<_, Option<Vec<u8>>>(16)?.unwrap_or_default(),
            state: row.get(17)?,
        })
    }

    fn claimed(self, tx: &Tx<'_>) -> Result<Claimed> {
        let key = tx.lanes.get(self.lane)?;
        let facts = StoredFacts {
            attempt: self.attempt,
            crashes: self.crashes,
            releases: self.releases,
            spent: self.spent,
            alone: key.alone,
            probe: self.probe,
            queued_at: self.queued_at,
        };
        Ok(Claimed {
            lease: Lease { job: self.id, token: LeaseToken(self.token) },
            workload: key.workload.clone(),
            owner: self.owner,
            label: self.label,
            input: self.input,
            state: self.state,
            targets: key.targets.clone(),
            generation: self.generation,
            max_attempts: self.max_attempts,
            batch: self.batch,
            facts: facts.into(),
            claimed_at: instant::from_millis(self.leased_at),
            expires_at: instant::from_millis(self.expires_at),
        })
    }
}

/// What a worker holds.
pub(crate) fn leases_of(tx: &Tx<'_>, worker: WorkerId) -> Result<Vec<Claimed>> {
    let rows = list(tx.conn, sql::LEASES_OF, params![blob(worker.as_uuid())], Row::read)?;
    rows.into_iter().map(|row| row.claimed(tx)).collect()
}

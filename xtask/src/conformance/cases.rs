//! The conformance cases: what the service, any store and the engine must hold, by id. Ids are never reused.

/// Cases that belong together.
#[derive(Debug)]
pub(super) struct Group {
    /// The heading.
    pub(super) title: &'static str,
    /// Id and what must hold.
    pub(super) cases: &'static [(&'static str, &'static str)],
}

/// The spelling of an id in the list, from any spelling; `None` when there is no such case.
pub(super) fn find(id: &str) -> Option<&'static str> {
    let mut ids = GROUPS.iter().flat_map(|group| group.cases).map(|(id, _)| *id);
    ids.find(|known| known.eq_ignore_ascii_case(id))
}

/// All cases, in the order of the page.
pub(super) const GROUPS: &[Group] = &[
    Group {
        title: "Acceptance",
        cases: &[
            ("A1", "A file of another type fails with NOT_PDF and 400"),
            ("A2", "More than 50 MB is 413 TOO_LARGE"),
            ("A3", "A gateway's 400 or 406 fails the job with GW_4XX, without a retry"),
            (
                "A4",
                "With the gateway down jobs stay queued, or fail fast where that is set; afterwards they go on, or a retry succeeds",
            ),
            (
                "A5",
                "Timeouts are retried with exponential waits up to the cap, then the job fails with GW_TIMEOUT",
            ),
            ("A6", "A result that cannot be written is tried once more, then the job fails with IO_ERROR"),
            ("A7", "A download before the end is 409 NOT_READY, after retention 404 EXPIRED"),
            ("A8", "A retry by hand goes back to the queue and completes"),
            ("A9", "A worker that dies leaves no second XML, and its lease runs out as it should"),
        ],
    },
    Group {
        title: "Reliability",
        cases: &[
            ("T1", "Unit: the wait before a retry"),
            ("T2", "Unit: which codes are retried"),
            ("T3", "Unit: when a breaker opens and closes"),
            ("T4", "Unit: reclaiming"),
            ("T5", "400 becomes GW_4XX without a retry"),
            ("T6", "502 and timeouts are retried with their spacing"),
            ("T7", "SIGTERM while processing: it completes or goes back cleanly"),
            ("T8", "The claim respects the due time of a retry"),
            ("T9", "The breaker opens under forced faults"),
            ("T10", "It resumes on recovery"),
            ("T11", "Retry puts a job back into the queue"),
            ("T12", "A long job's lease is extended and the job completes"),
            (
                "X1",
                "Nothing is processed twice to two ends; expired leases are reclaimed without anybody's help",
            ),
            ("X2", "The spacing of retries is that of the formula, attempts are capped, due times are kept"),
            ("X3", "The breaker pauses dispatch during a failure and recovers by itself"),
            ("X4", "A retry by hand is for owners alone, and only while the source exists"),
            ("X5", "Logs and metrics support debugging"),
            ("X6", "Names are the same in the database, the API and the code"),
        ],
    },
    Group {
        title: "Fault matrix",
        cases: &[
            ("M1", "Worker killed after its claim, before the gateway is called"),
            ("M2", "Worker killed with half a result written"),
            ("M3", "Worker killed after the result has its name, before its completion is committed"),
            ("M4", "Worker killed after its completion is committed"),
            ("M5", "Server killed with a source on disk and no row yet"),
            ("M6", "Server killed with the row committed and no answer sent"),
            ("M7", "Workers killed again and again"),
            ("M8", "Worker stopped for longer than its lease, then it goes on"),
            ("M9", "The same process claims its own job again"),
            ("M10", "A zombie's late failure and late heartbeat"),
            ("M11", "SIGTERM with a job shorter than the drain"),
            ("M12", "SIGTERM with a job longer than the drain; a second SIGTERM"),
            ("M13", "A handler panics"),
            ("M14", "A job that ends its process every time"),
            ("M15", "A handler that hangs and ignores its end"),
            ("M16", "Workers whose clocks are wrong"),
            ("M17", "The database's clock jumps"),
            ("M18", "Postgres crashes and comes back"),
            ("M19", "The answer to a claim's commit is lost"),
            ("M20", "The answer to a completion's commit is lost"),
            ("M21", "The database cannot be reached"),
            ("M22", "The database is silent"),
            ("M23", "The pool is exhausted by slow queries"),
            ("M24", "A claim with a hostile planner"),
            ("M25", "Any statement fails"),
            ("M26", "Another process holds SQLite's write lock"),
            ("M27", "A long reader"),
            ("M28", "The disk of the SQLite file is full"),
            ("M29", "The kernel fails a sync or a write of the database"),
            ("M30", "A SQLite file that is damaged, truncated or of another time"),
            ("M31", "A gateway that accepts and never answers"),
            ("M32", "An answer that drips, never ends, or is huge"),
            ("M33", "Every status of a gateway"),
            ("M34", "Retry-After in every form"),
            ("M35", "200 with a body that is empty, cut, no XML, or in another encoding"),
            ("M36", "Half of the gateway's answers fail, then it heals"),
            ("M37", "A gateway that flaps"),
            ("M38", "S3: faults that pass, and faults that do not"),
            ("M39", "A put that is cut"),
            ("M40", "A put whose answer is lost"),
            ("M41", "Killed between the copy and the delete of a move"),
            ("M42", "The same key uploaded again while the old one is in work"),
            ("M43", "A source that is removed or replaced meanwhile"),
            ("M44", "Retention beside downloads, retries and running jobs"),
            ("M45", "A disk that is full or fails, during an upload and during a result"),
            ("M46", "Clients that stall in heads, drip, read slowly, or go away"),
            ("M47", "Equal uploads at once, lengths that lie, bodies beyond the limit, retries at once"),
            ("M48", "A fetch of many with some that are bad"),
            ("M49", "A large replay, twice at once, killed in the middle"),
            ("M50", "A permanent job that fails for ever; two versions together; unknown kinds"),
        ],
    },
    Group {
        title: "Claim and lease",
        cases: &[
            ("C1", "A claim takes no more jobs than its limit"),
            ("C2", "A claim takes only jobs of the queues it names"),
            ("C3", "A job due later is not claimed, also under a test clock"),
            ("C4", "Order is total: priority, due time, id"),
            ("C5", "Two workers and 100,000 jobs: each job runs once"),
            ("C6", "Rows that others have locked are skipped, and the claim is filled all the same"),
            ("C7", "A workload at its cap does not starve another"),
            ("C8", "A claim records token, owner, deadline and attempt"),
            ("C9", "Many leases are extended in one go, and a locked row among them holds up no other"),
            ("C10", "A lost lease is told to the handler, and its result is refused"),
            ("C11", "A success that comes after the next claim changes nothing and is noted as late"),
            ("C12", "A failure that comes after the next claim changes nothing and is noted as late"),
            ("C13", "Completing a job that is unknown or gone does no harm"),
            ("C14", "Only the lease's owner can extend it"),
            ("C15", "A worker name used again after a restart keeps no old lease alive"),
            ("C16", "A job is found again though its worker's row was pruned first"),
            ("C17", "The wall clock plays no part while the test clock stands still"),
            ("C18", "Hosts with different clocks obey the database's clock"),
            ("C19", "A sweep full of exempt jobs does not hide the jobs behind them"),
            ("C20", "A job without a time limit is reclaimed by missed heartbeats, never by age"),
            ("C21", "A sweeper that does not know a workload leaves its jobs' fate alone"),
        ],
    },
    Group {
        title: "Retry and classification",
        cases: &[
            ("R1", "Every code has its policy; an unknown code gets the default and is marked"),
            ("R2", "Every delay lies within the stated jitter"),
            ("R3", "Huge attempt numbers do not overflow"),
            ("R4", "Attempts are capped"),
            ("R5", "Elapsed time is capped"),
            ("R6", "Retry-After beats the curve, up to its bound"),
            ("R7", "A failure that is not retryable ends the job at once"),
            ("R8", "A code that is retried once is retried once"),
            ("R9", "A changed policy decides later attempts only, and its version is recorded"),
            ("R10", "A snooze costs no attempt and has its own count"),
            ("R11", "Throttling is no failure"),
            ("R12", "An attempt cut off by shutdown is not charged"),
            ("R13", "A crash is charged to the attempt and to the crash counter"),
            ("R14", "A healthy run sets a permanent job's counter back"),
            ("R15", "Mixed codes each spend their own budget"),
            ("R16", "If the delay cannot be computed, the default delay is used"),
            ("R17", "A job that waits for a retry is queued and holds no worker"),
            ("R18", "A retried job keeps its priority and its place in the order"),
            ("R19", "A job of an unregistered workload is held and visible, and spends nothing"),
            ("R20", "Input that cannot be decoded follows policy, then ends with its own code"),
        ],
    },
    Group {
        title: "Failure records",
        cases: &[
            ("E1", "Each attempt has one record that never changes"),
            ("E2", "Message, stack and context are bounded, and a cut is marked"),
            ("E3", "Broken UTF-8, NUL bytes, 100 MB of text and a panicking Display are survived"),
            ("E4", "Secrets are removed before anything is stored"),
            ("E5", "A failure while recording a failure neither ends the worker nor loses the job"),
            ("E6", "The public message has no path and no stack"),
            ("E7", "The database refuses failure, result and lease fields in the wrong state"),
            ("E8", "One fault with differing ids, numbers and URLs is one group; two faults are two"),
            ("E9", "The event log has every transition, in order"),
            ("E10", "Metrics count what the store holds"),
        ],
    },
    Group {
        title: "Crash, poison, shutdown",
        cases: &[
            ("K1", "A job of a killed worker goes on within the bound"),
            ("K2", "Killed between effect and commit, the job finds the result that exists"),
            ("K3", "A job that ends its process again and again is quarantined; others live"),
            ("K4", "The same for a job that uses up the memory"),
            ("K5", "An endless loop ends at the attempt's deadline"),
            ("K6", "A handler that ignores cancellation loses its slot and is flagged"),
            ("K7", "A panic is a failure with a code"),
            ("K8", "SIGTERM: no more claims, finish, else release uncharged"),
            ("K9", "A second signal ends the process now"),
            ("K10", "Leases are kept alive while draining"),
            ("K11", "A draining worker starts nothing new"),
            ("K12", "A job that reschedules itself can be drained"),
            ("K13", "A rolling restart of twenty workers costs no attempt"),
        ],
    },
    Group {
        title: "Breaker",
        cases: &[
            ("B1", "Opens at the threshold, with a minimum of calls"),
            ("B2", "The sliding window has no gap at its edge"),
            ("B3", "Only the listed failures count: not 4xx, not credentials, not 429"),
            ("B4", "Open: nothing is dispatched, jobs stay queued with their attempts, the reason shows"),
            ("B5", "Fail-fast mode"),
            ("B6", "State is shared by all workers and survives a restart"),
            ("B7", "Exactly one probe across processes"),
            ("B8", "A slow probe keeps its lease; a dead prober is replaced"),
            ("B9", "A call from before the opening can neither close nor re-open"),
            ("B10", "A neutral outcome frees the probe's place"),
            ("B11", "The probe is the oldest held job, and stays it"),
            ("B12", "A failed probe opens again with a longer cool-down"),
            ("B13", "Closing ramps up instead of letting all go"),
            ("B14", "A job with two targets waits for both"),
            ("B15", "Opened or closed by hand: with an end and an audit row"),
            ("B16", "A breaker never holds jobs of other targets"),
            ("B17", "Probing by health URL and by job"),
            ("B18", "The state machine is model-checked"),
        ],
    },
    Group {
        title: "Dead letters and replay",
        cases: &[
            ("D1", "An entry has code, reason, attempts, time and the whole history"),
            ("D2", "Every reason: exhausted, not retryable, crash, deadline, expired, by hand, undecodable"),
            ("D3", "One entry is replayed by its exact id"),
            ("D4", "Filters: code, group, workload, queue, owner, time, text"),
            ("D5", "A dry run counts exactly what the replay then touches"),
            ("D6", "A replay keeps its rate"),
            ("D7", "A replay stops when too large a share fails"),
            ("D8", "A replay is cancelled midway, and resumed"),
            ("D9", "A replayed job that dies again comes back with its lineage"),
            ("D10", "A duplicate is reported and the replay goes on"),
            ("D11", "Replaying twice has the effect of once"),
            ("D12", "An ordering key is respected"),
            ("D13", "An edited payload leaves an audit row"),
            ("D14", "Without its source a job is refused as EXPIRED"),
            ("D15", "Only the owner's entries can be touched"),
            ("D16", "A purge of everything must be asked for as such"),
            ("D17", "Dead letters have a retention of their own, and nothing overflows silently"),
            ("D18", "A replay waits for an open breaker"),
            ("D19", "Ten million entries: a page in 200 ms, and claims do not notice"),
        ],
    },
    Group {
        title: "Unique, schedule, flow",
        cases: &[
            ("U1", "Ten producers of the same key make one job"),
            ("U2", "A key's scope and the states that hold it"),
            ("U3", "Retry and snooze keep the key"),
            ("U4", "After its end a key can be used again"),
            ("U5", "Duplicates within a batch become one"),
            ("U6", "Two retries that would collide are resolved, not stuck"),
            ("U7", "A reclaim is never stuck on a duplicate"),
            ("S1", "A schedule fires once through a change of leader"),
            ("S2", "A schedule across daylight-saving days"),
            ("S3", "Missed ticks follow the schedule's rule"),
            ("S4", "A paused schedule keeps its place"),
            ("F1", "One bad member of a batch fails alone"),
            ("F2", "A batch with dead members says so and never hangs"),
            ("F3", "An enqueue inside a transaction is undone with it"),
        ],
    },
    Group {
        title: "Stores and operations",
        cases: &[
            ("O1", "SQLite: sixteen writers and a polling page, and nobody sees BUSY"),
            ("O2", "SQLite: the WAL stays bounded"),
            ("O3", "Full disk: claiming stops, says so, and recovers"),
            ("O4", "Simulated power loss"),
            ("O5", "A copied or moved database"),
            ("O6", "Postgres: restart, killed backend, empty pool, failover, PgBouncer, lost NOTIFY"),
            ("O7", "Postgres: a snapshot held for ten minutes leaves claims bounded"),
            ("O8", "Migrations with data, concurrent starters, and a refusal of another epoch"),
            ("O9", "A move from SQLite to Postgres keeps ids, attempts, dead letters and breakers"),
            ("O10", "Pause and resume: idempotent, for one queue, an unknown one, all"),
            ("O11", "Six hours of load without drift"),
            ("O12", "Two versions share the work"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_count_up_without_a_gap() {
        let ids: Vec<&str> = GROUPS.iter().flat_map(|group| group.cases).map(|(id, _)| *id).collect();
        let mut last = ("", 0u32);
        for id in &ids {
            let (letter, number) = id.split_at(1);
            let number: u32 = number.parse().unwrap();
            let expected = if letter == last.0 { last.1 + 1 } else { 1 };
            assert_eq!(number, expected, "{id}");
            assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id}");
            last = (letter, number);
        }
        assert_eq!(ids.len(), 204);
    }

    #[test]
    fn an_id_is_found_in_any_spelling() {
        assert_eq!(find("c11"), Some("C11"));
        assert_eq!(find("C22"), None);
        assert_eq!(find(""), None);
    }
}

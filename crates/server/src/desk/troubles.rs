//! What is wrong, the worst first, each in a sentence and with the page that shows it.
//!
//! Pure: whoever calls it has looked. What a person wants so (a hold, a pause) is told, and is not urgent.

use std::time::Duration;

use redrive_api::{Breaker, DiskState, Trouble, WorkerSum};
use redrive_engine::Input;
use redrive_fetch::Resource;
use redrive_model::group::GroupState;
use redrive_model::{Timestamp, instant};
use redrive_store::{GroupRow, WorkloadQueue};
use url::form_urlencoded::Serializer;

/// A job that could run and waits longer than this is late.
const LATE: Duration = Duration::from_secs(5 * 60);
/// A cause that was seen within this time is growing.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// So many of a kind are told one by one.
const MOST: usize = 3;

/// What was seen.
pub(crate) struct Seen<'a> {
    pub(crate) at: Timestamp,
    pub(crate) workers: WorkerSum,
    pub(crate) queues: &'a [WorkloadQueue],
    /// Those that are not closed.
    pub(crate) breakers: &'a [Breaker],
    /// Causes that nobody has looked at.
    pub(crate) groups: &'a [GroupRow],
    pub(crate) paused: &'a [String],
    pub(crate) disk: DiskState,
}

/// What is wrong with it. Jobs are late after some minutes, or when the door closes because of them, whichever is sooner.
pub(crate) fn of(seen: &Seen<'_>, queue_age: Duration) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    troubles.extend(disk(seen.disk));
    troubles.extend(workers(seen.workers));
    breakers(seen.breakers, &mut troubles);
    late(seen, LATE.min(queue_age), &mut troubles);
    groups(seen, &mut troubles);
    paused(seen.paused, &mut troubles);
    // The order among equals stays.
    troubles.sort_by_key(|trouble| !trouble.urgent);
    troubles
}

fn trouble(kind: &str, urgent: bool, href: impl Into<String>, text: impl Into<String>) -> Trouble {
    Trouble { kind: kind.to_owned(), text: text.into(), href: href.into(), urgent }
}

fn disk(disk: DiskState) -> Option<Trouble> {
    match disk {
        DiskState::Full => Some(trouble(
            "disk",
            true,
            "/failures/DISK_FULL",
            "The disk is nearly full, and nothing new is taken.",
        )),
        DiskState::Low => Some(trouble("disk", false, "/failures/DISK_FULL", "The disk is filling up.")),
        DiskState::Enough | DiskState::Unknown => None,
    }
}

fn workers(workers: WorkerSum) -> Option<Trouble> {
    match (workers.alive, workers.draining) {
        (0, 0) => Some(trouble("no_worker", true, "/workers", "No worker lives: nothing is done.")),
        (0, _) => {
            Some(trouble("no_worker", true, "/workers", "Every worker is draining: nothing new is begun."))
        }
        (_, _) => None,
    }
}

fn breakers(breakers: &[Breaker], troubles: &mut Vec<Trouble>) {
    let shut = breakers.iter().filter(|breaker| matches!(breaker.state.as_str(), "open" | "half_open"));
    let shut: Vec<_> = shut.collect();
    for breaker in shut.iter().take(MOST) {
        let text = format!("{} does not answer well{}.", breaker.target, waiting(breaker.held_jobs));
        troubles.push(trouble("breaker", true, "/breakers", text));
    }
    if shut.len() > MOST {
        let text = format!("{} more targets do not answer well.", shut.len() - MOST);
        troubles.push(trouble("breaker", true, "/breakers", text));
    }
    for breaker in breakers.iter().filter(|breaker| breaker.state == "held").take(MOST) {
        let text = format!("{} is held by a person{}.", breaker.target, waiting(breaker.held_jobs));
        troubles.push(trouble("held", false, "/breakers", text));
    }
}

fn waiting(jobs: u64) -> String {
    match jobs {
        0 => String::new(),
        1 => "; 1 job waits for it".to_owned(),
        n => format!("; {n} jobs wait for it"),
    }
}

fn late(seen: &Seen<'_>, limit: Duration, troubles: &mut Vec<Trouble>) {
    for queue in seen.queues {
        let Some(age) = queue.stats.oldest_age.filter(|age| *age > limit) else { continue };
        // A manifest may be a million downloads that wait for days, and all is well while they are being done.
        let many = queue.workload.as_str() == Resource::WORKLOAD && queue.stats.processing > 0;
        if many || seen.paused.iter().any(|name| name.is_empty() || name == queue.workload.as_str()) {
            continue;
        }
        let query = [("workload", queue.workload.as_str()), ("status", "queued")];
        let href = format!("/jobs?{}", Serializer::new(String::new()).extend_pairs(query).finish());
        let text = format!("The oldest {} job has been waiting for {}.", queue.workload, minutes(age));
        troubles.push(trouble("queue_age", true, href, text));
    }
}

fn minutes(age: Duration) -> String {
    match age.as_secs() / 60 {
        n @ 0..120 => format!("{n} minutes"),
        n @ 120..2_880 => format!("{} hours", n / 60),
        n => format!("{} days", n / 1_440),
    }
}

fn groups(seen: &Seen<'_>, troubles: &mut Vec<Trouble>) {
    let lately = |group: &&GroupRow| instant::between(group.last_seen, seen.at) < LATELY;
    let growing: Vec<_> = seen.groups.iter().filter(lately).collect();
    for group in growing.iter().take(MOST) {
        let again = if group.state == GroupState::Regressed { " again" } else { "" };
        let what = group.code.public().entry().what_happened.trim_end_matches('.');
        // What was tried again, and has left nobody behind, is on its way to be well.
        let (urgent, left) = match group.open {
            0 => (false, "nothing was given up".to_owned()),
            n => (true, format!("{} given up", counted(n, "job", "jobs"))),
        };
        let failed = counted(group.failures, "attempt", "attempts");
        let text = format!("{}: “{what}”{again}: {failed} failed, {left}.", group.workload);
        troubles.push(trouble("group", urgent, format!("/dead/{}", group.fingerprint), text));
    }
    if growing.len() > MOST {
        let text = format!("{} more causes of failure are growing.", growing.len() - MOST);
        troubles.push(trouble("group", true, "/dead?state=new", text));
    }
    let unseen = seen.groups.iter().filter(|group| !lately(group) && group.open > 0).count();
    if unseen > 0 {
        let text = match unseen {
            1 => "1 cause of failure waits for somebody to look at it.".to_owned(),
            n => format!("{n} causes of failure wait for somebody to look at them."),
        };
        troubles.push(trouble("group", false, "/dead?state=new", text));
    }
}

fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn paused(paused: &[String], troubles: &mut Vec<Trouble>) {
    for name in paused {
        let text = match name.as_str() {
            "" => "Everything is paused by a person.".to_owned(),
            name => format!("{name} is paused by a person."),
        };
        troubles.push(trouble("paused", false, "/audit", text));
    }
}

#[cfg(test)]
mod tests {
    use redrive_model::fingerprint::Fingerprint;
    use redrive_model::{Code, JobId, WorkloadName};
    use redrive_store::QueueStats;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn at() -> Timestamp {
        "2026-03-04T05:06:07Z".parse().unwrap()
    }

    fn well() -> Seen<'static> {
        let workers = WorkerSum { alive: 1, ..WorkerSum::default() };
        let (queues, breakers, groups, paused) = (&[][..], &[][..], &[][..], &[][..]);
        Seen { at: at(), workers, queues, breakers, groups, paused, disk: DiskState::Enough }
    }

    fn told(seen: &Seen<'_>) -> Vec<(String, bool, String)> {
        of(seen, DAY).into_iter().map(|one| (one.kind, one.urgent, one.href)).collect()
    }

    fn queue(name: &str, age: u64, processing: u64) -> WorkloadQueue {
        let stats =
            QueueStats { oldest_age: Some(Duration::from_secs(age)), processing, ..QueueStats::default() };
        WorkloadQueue { workload: WorkloadName::new(name).unwrap(), stats }
    }

    fn breaker(state: &str) -> Breaker {
        Breaker {
            target: "gateway".into(),
            state: state.into(),
            mode: "hold".into(),
            since: at(),
            next_probe_at: None,
            held_jobs: 2,
        }
    }

    fn group(seen: u64, state: GroupState, open: u64) -> GroupRow {
        let workload = WorkloadName::new("convert").unwrap();
        let last_seen = instant::before(at(), Duration::from_secs(seen));
        GroupRow {
            fingerprint: Fingerprint::new(Code::Gw4xx, &workload, None, &seen.to_string()),
            workload,
            code: Code::Gw4xx,
            target: None,
            message: "no".into(),
            sample: JobId::from_parts(at(), [0; 10]),
            state,
            first_seen: last_seen,
            last_seen,
            failures: 3,
            open,
        }
    }

    #[test]
    fn nothing_is_said_when_all_is_well() {
        assert_eq!(told(&well()), []);
        let (queues, breakers) = ([queue("convert", 299, 0)], [breaker("ramp")]);
        assert_eq!(told(&Seen { queues: &queues, breakers: &breakers, ..well() }), []);
    }

    #[test]
    fn everything_that_is_wrong_is_told_with_its_page_and_the_urgent_first() {
        let queues = [queue("convert", 301, 1)];
        let breakers = [breaker("held"), breaker("open")];
        let groups = [group(5, GroupState::New, 3), group(4_000, GroupState::New, 1)];
        let paused = ["fetch".to_owned()];
        let seen = Seen {
            workers: WorkerSum::default(),
            queues: &queues,
            breakers: &breakers,
            groups: &groups,
            paused: &paused,
            disk: DiskState::Low,
            ..well()
        };
        let cause = format!("/dead/{}", groups[0].fingerprint);
        let expected = [
            ("no_worker", true, "/workers"),
            ("breaker", true, "/breakers"),
            ("queue_age", true, "/jobs?workload=convert&status=queued"),
            ("group", true, cause.as_str()),
            ("disk", false, "/failures/DISK_FULL"),
            ("held", false, "/breakers"),
            ("group", false, "/dead?state=new"),
            ("paused", false, "/audit"),
        ];
        let told = told(&seen);
        let told: Vec<_> =
            told.iter().map(|(kind, urgent, href)| (kind.as_str(), *urgent, href.as_str())).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn downloads_may_wait_while_some_of_them_run_and_what_is_paused_is_not_late() {
        let busy = [queue("fetch", 9_000, 1)];
        assert_eq!(told(&Seen { queues: &busy, ..well() }), []);
        let stuck = [queue("fetch", 9_000, 0)];
        assert_eq!(told(&Seen { queues: &stuck, ..well() }).len(), 1);
        let (paused, queues) = ([String::new()], [queue("convert", 9_000, 0)]);
        let told = told(&Seen { queues: &queues, paused: &paused, ..well() });
        assert_eq!(told, [("paused".into(), false, "/audit".into())]);
    }

    #[test]
    fn many_of_a_kind_are_counted() {
        let breakers: Vec<_> = (0..5).map(|_| breaker("open")).collect();
        let texts: Vec<_> =
            of(&Seen { breakers: &breakers, ..well() }, DAY).into_iter().map(|one| one.text).collect();
        assert_eq!(texts[0], "gateway does not answer well; 2 jobs wait for it.");
        assert_eq!(texts[3], "2 more targets do not answer well.");
        assert_eq!(texts.len(), 4);
    }

    #[test]
    fn a_cause_that_left_nobody_behind_is_not_urgent() {
        let groups = [group(5, GroupState::New, 0), group(6, GroupState::Regressed, 1)];
        let told = of(&Seen { groups: &groups, ..well() }, DAY);
        let what = "convert: “Couldn’t convert this file with the selected mapping”";
        assert_eq!(told[0].text, format!("{what} again: 3 attempts failed, 1 job given up."));
        assert_eq!(told[1].text, format!("{what}: 3 attempts failed, nothing was given up."));
        assert_eq!((told[0].urgent, told[1].urgent), (true, false));
    }
}

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
    /// There are more such causes than these.
    pub(crate) more_groups: bool,
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
            "The disk is nearly full: no new jobs are accepted.",
        )),
        DiskState::Low => Some(trouble("disk", false, "/failures/DISK_FULL", "The disk is filling up.")),
        DiskState::Enough | DiskState::Unknown => None,
    }
}

fn workers(workers: WorkerSum) -> Option<Trouble> {
    match (workers.alive, workers.draining) {
        (0, 0) => Some(trouble("no_worker", true, "/workers", "No worker is running: no job is processed.")),
        (0, _) => {
            Some(trouble("no_worker", true, "/workers", "Every worker is draining: no new job is started."))
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
    asked_for(breakers, "throttled", "asked us to wait", troubles);
    asked_for(breakers, "held", "is held by an operator", troubles);
}

/// Targets that let nobody pass because somebody wants it so: a person, or they themselves.
fn asked_for(breakers: &[Breaker], state: &str, how: &str, troubles: &mut Vec<Trouble>) {
    let all: Vec<_> = breakers.iter().filter(|breaker| breaker.state == state).collect();
    for breaker in all.iter().take(MOST) {
        let text = format!("{} {how}{}.", breaker.target, waiting(breaker.held_jobs));
        troubles.push(trouble(state, false, "/breakers", text));
    }
    let (left, jobs) = (all.len().saturating_sub(MOST), all.iter().skip(MOST).map(|one| one.held_jobs).sum());
    if left > 0 {
        let how = how.replacen("is ", "are ", 1);
        let text = match left {
            1 => format!("1 more target {}{}.", how.replacen("are ", "is ", 1), waiting(jobs)),
            n => format!("{n} more targets {how}{}.", waiting_for_them(jobs)),
        };
        troubles.push(trouble(state, false, "/breakers", text));
    }
}

fn waiting(jobs: u64) -> String {
    match jobs {
        0 => String::new(),
        1 => "; 1 job waits for it".to_owned(),
        n => format!("; {n} jobs wait for it"),
    }
}

fn waiting_for_them(jobs: u64) -> String {
    match jobs {
        0 => String::new(),
        1 => "; 1 job waits for them".to_owned(),
        n => format!("; {n} jobs wait for them"),
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
        let what = group.code.entry().what_happened.trim_end_matches('.');
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
        // Of either state, and last seen first.
        troubles.push(trouble("group", true, "/dead", text));
    }
    for (state, href, what) in [
        (GroupState::New, "/dead?state=new", "not looked at yet"),
        (GroupState::Regressed, "/dead?state=regressed", "back after it was marked as fixed"),
    ] {
        let unseen =
            seen.groups.iter().filter(|group| !lately(group) && group.open > 0 && group.state == state);
        let text = match (unseen.count(), seen.more_groups) {
            (0, _) => continue,
            (1, false) => format!("1 cause of failure is {what}."),
            (n, false) => format!("{n} causes of failure are {}.", what.replace("it was", "they were")),
            // Not all were counted.
            (n, true) => {
                format!("{n} and more causes of failure are {}.", what.replace("it was", "they were"))
            }
        };
        troubles.push(trouble("group", false, href, text));
    }
}

fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn paused(paused: &[String], troubles: &mut Vec<Trouble>) {
    for name in paused {
        let text = match name.as_str() {
            "" => "Everything is paused by an operator.".to_owned(),
            name => format!("{name} is paused by an operator."),
        };
        // Where the pause can be ended.
        let href = if name == "intake" { "/intake" } else { "/workers#paused" };
        troubles.push(trouble("paused", false, href, text));
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
        let (more_groups, disk) = (false, DiskState::Enough);
        Seen { at: at(), workers, queues, breakers, groups, more_groups, paused, disk }
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
            ("paused", false, "/workers#paused"),
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
        assert_eq!(told, [("paused".into(), false, "/workers#paused".into())]);
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
    fn held_and_throttled_targets_are_told_and_summed_up() {
        let mut breakers: Vec<_> = (0..5).map(|_| breaker("held")).collect();
        breakers.push(breaker("throttled"));
        let told: Vec<_> = of(&Seen { breakers: &breakers, ..well() }, DAY);
        let texts: Vec<&str> = told.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts[0], "gateway asked us to wait; 2 jobs wait for it.");
        assert_eq!(texts[1], "gateway is held by an operator; 2 jobs wait for it.");
        assert_eq!(texts[4..], ["2 more targets are held by an operator; 4 jobs wait for them."]);
        assert!(told.iter().all(|one| !one.urgent));
        breakers.remove(0);
        let texts = of(&Seen { breakers: &breakers, ..well() }, DAY);
        assert_eq!(texts[4].text, "1 more target is held by an operator; 2 jobs wait for it.");
    }

    #[test]
    fn causes_that_wait_are_told_by_where_they_are_and_a_count_that_stopped_says_so() {
        let old = |n: u64, state| (0..n).map(move |n| group(4_000 + n, state, 1));
        let groups: Vec<_> = old(50, GroupState::New).chain(old(1, GroupState::Regressed)).collect();
        let told = |more_groups| {
            let all = of(&Seen { groups: &groups, more_groups, ..well() }, DAY);
            all.into_iter().map(|one| (one.href, one.text)).collect::<Vec<_>>()
        };
        let expected = [
            ("/dead?state=new", "50 causes of failure are not looked at yet."),
            ("/dead?state=regressed", "1 cause of failure is back after it was marked as fixed."),
        ];
        assert_eq!(told(false), expected.map(|(href, text)| (href.to_owned(), text.to_owned())));
        assert_eq!(told(true)[0].1, "50 and more causes of failure are not looked at yet.");
    }

    #[test]
    fn two_causes_with_one_public_code_are_told_apart() {
        let of_code = |seen, code| GroupRow { code, ..group(seen, GroupState::New, 1) };
        let groups = [of_code(5, Code::ParseError), of_code(6, Code::GwUnsupportedEncryption)];
        let told = of(&Seen { groups: &groups, ..well() }, DAY);
        assert_ne!(told[0].text, told[1].text);
        assert!(told[0].text.contains("damaged") && told[1].text.contains("encrypted"), "{told:?}");
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

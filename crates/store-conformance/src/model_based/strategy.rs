//! Which operations a sequence is made of, and how often.
//!
//! The weights depend on the reference's state: what can do nothing yet is drawn rarely, and a world full of jobs gets
//! fewer new ones.

use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use proptest_state_machine::ReferenceStateMachine;
use redrive_model::State;
use redrive_model::group::GroupState;

use super::op::{
    BatchOp, BatchPick, BreakerChange, ClaimOp, EnqueueOp, FinishOp, JobOp, JobPick, Kind, LeasePick, ModeOp,
    Op, OutcomeOp, Step, WhenOp,
};
use super::universe::WORKERS;
use super::world::World;

/// The reference as proptest wants to see it.
pub(crate) struct Machine;

impl ReferenceStateMachine for Machine {
    type State = World;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<World> {
        Just(World::default()).boxed()
    }

    fn transitions(world: &World) -> BoxedStrategy<Step> {
        let elsewhere = prop::bool::weighted(0.3);
        (op(world), elsewhere).prop_map(|(op, elsewhere)| Step { op, elsewhere }).boxed()
    }

    fn apply(mut world: World, step: &Step) -> World {
        world.step(step);
        world
    }
}

fn op(world: &World) -> impl Strategy<Value = Op> + use<> {
    let r = &world.reference;
    let leases = r.jobs.values().filter(|job| job.lease.is_some()).count();
    let new = match r.jobs.values().filter(|job| !job.state.is_terminal()).count() {
        0..=5 => 16,
        6..=12 => 8,
        _ => 2,
    };
    let waiting = r.jobs.values().any(|job| job.awaits.is_some());
    let crashed = r.jobs.values().filter(|job| job.crashes > 0 && job.lease.is_some()).count();
    let queued = || r.jobs.values().filter(|job| job.state == State::Queued && job.awaits.is_none());
    let ready = queued().filter(|job| job.due_at <= r.now && !r.is_held(&job.targets)).count();
    let later = queued().filter(|job| job.due_at > r.now).count();
    let if_any = |n: usize, weight: u32| if n > 0 { weight } else { 1 };
    Union::new_weighted(vec![
        (new, enqueue(waiting).prop_map(Op::Enqueue).boxed()),
        (if ready == 0 && later > 0 { 30 } else { 6 }, wait().prop_map(Op::Advance).boxed()),
        (2, (1..=72u64).prop_map(|hours| Op::Advance(hours * 3_600_000)).boxed()),
        (if ready > 0 { 36 } else { 8 }, claim(world).prop_map(Op::Claim).boxed()),
        (if_any(leases, 32), vec(finish(), 1..=3).prop_map(Op::Finish).boxed()),
        (if_any(crashed, 20), crash().boxed()),
        (if_any(world.finished.len(), 4), (0..6usize).prop_map(Op::FinishAgain).boxed()),
        (if_any(world.enqueued.len(), 3), (0..6usize).prop_map(Op::EnqueueAgain).boxed()),
        (
            if_any(r.expired().len(), 10),
            (1..=4usize, 0..3u8).prop_map(|(limit, policy)| Op::Reclaim { limit, policy }).boxed(),
        ),
        (if_any(leases, 5), extend().boxed()),
        (
            if_any(leases, 2),
            (lease(), any::<u8>()).prop_map(|(lease, state)| Op::SaveState { lease, state }).boxed(),
        ),
        (
            if waiting { 8 } else { 4 },
            (jobs(Kind::Processing, Kind::Awaited), keep())
                .prop_map(|(jobs, keep)| Op::Cancel { jobs, keep })
                .boxed(),
        ),
        (
            6,
            (jobs(Kind::Failed, Kind::FailedMember), any::<bool>())
                .prop_map(|(jobs, replay)| Op::Retry { jobs, replay })
                .boxed(),
        ),
        (3, give_up().boxed()),
        (
            3,
            (jobs(Kind::Queued, Kind::Queued), -60..=60i32)
                .prop_map(|(jobs, seconds)| Op::Reschedule { jobs, seconds })
                .boxed(),
        ),
        (if_any(r.dead.len(), 2), vec(0..8usize, 1..=3).prop_map(Op::Discard).boxed()),
        (if_any(r.groups.len(), 4), move_group().boxed()),
        (1, weighted(0.8, 0..3u8).prop_map(Op::Pause).boxed()),
        (if_any(r.paused.len(), 8), weighted(0.6, 0..3u8).prop_map(Op::Resume).boxed()),
        (6, breaker().boxed()),
        (
            3,
            (0..WORKERS, 0..=60u8, any::<bool>())
                .prop_map(|(worker, ttl, draining)| Op::Beat { worker, ttl, draining })
                .boxed(),
        ),
        (
            1,
            (0..WORKERS, any::<bool>())
                .prop_map(|(worker, wanted)| Op::WantDrained { worker, wanted })
                .boxed(),
        ),
        (4, jobs(Kind::Complete, Kind::Complete).prop_map(Op::Expire).boxed()),
        (3, (1..=7usize).prop_map(|scan| Op::Purge { scan }).boxed()),
        (1, (job(Kind::Any), 0..=2usize).prop_map(|(job, keep)| Op::PruneAttempts { job, keep }).boxed()),
        (1, (0..=48u8).prop_map(|hours| Op::Forget { hours }).boxed()),
        (1, any::<u8>().prop_map(Op::Publish).boxed()),
    ])
}

fn enqueue(waiting: bool) -> impl Strategy<Value = EnqueueOp> {
    let open = weighted(0.3, (weighted(0.2, 0..4usize), any::<bool>(), of(0..2u8), keep()));
    let open =
        open.prop_map(|o| o.map(|(again, tolerant, owner, keep)| BatchOp { again, tolerant, owner, keep }));
    // Where somebody waits for a batch, it had better end.
    let awaited = (0..2usize).prop_map(BatchPick::Awaited);
    let seal = if waiting { weighted(0.7, awaited.boxed()) } else { weighted(0.4, batch().boxed()) };
    let key = weighted(0.12, (0..2u8, 0..2u8, 0..2u8));
    let jobs = prop_oneof![5 => vec(new_job(), 0..=3), 1 => vec(new_job(), 4..=5)];
    (open, jobs, seal, key).prop_map(|(open, jobs, seal, idempotency)| EnqueueOp {
        open,
        jobs,
        seal,
        idempotency,
    })
}

fn new_job() -> impl Strategy<Value = JobOp> {
    let again = weighted(0.08, job(Kind::Any));
    let targets =
        prop_oneof![3 => Just(0u8), 3 => Just(0b010), 1 => Just(0b001), 1 => Just(0b110), 1 => 0..8u8];
    // A priority of 10 and a cap of 0 are refused.
    let priority = prop_oneof![80 => Just(5u8), 40 => 0..=9u8, 1 => Just(10)];
    let cap = prop_oneof![40 => Just(None), 40 => Just(Some(3)), 40 => (1..=2u32).prop_map(Some), 1 => Just(Some(0))];
    let when = prop_oneof![
        8 => Just(WhenOp::Now),
        2 => (1..=60u8).prop_map(WhenOp::In),
        1 => (-60..=60i8).prop_map(WhenOp::At),
    ];
    let who = (0..3u8, of(0..2u8), targets, priority);
    let what = (when, cap, weighted(0.3, 0..3u8), weighted(0.5, batch()), weighted(0.06, 0..3u8), keep());
    (again, who, what).prop_map(
        |(again, (workload, owner, targets, priority), (when, cap, dedupe, batch, rejected, keep))| JobOp {
            again,
            workload,
            owner,
            targets,
            priority,
            when,
            cap,
            dedupe,
            batch,
            rejected,
            keep,
        },
    )
}

fn claim(world: &World) -> impl Strategy<Value = ClaimOp> + use<> {
    let r = &world.reference;
    let alone = r.jobs.values().any(|job| job.alone && job.state == State::Queued);
    let probe = r.breakers.keys().any(|target| r.gate(target).probe.is_some());
    let mode = prop_oneof![
        8 => Just(ModeOp::Normal),
        if alone { 24 } else { 1 } => Just(ModeOp::Alone),
        1 => (0..3u8).prop_map(ModeOp::Probe),
        if probe { 8 } else { 1 } => (0..3usize).prop_map(ModeOp::RightProbe),
    ];
    let want = || prop_oneof![4 => Just(9u8), 1 => 0..=2u8];
    let full = prop_oneof![6 => Just(0u8), 1 => 0..8u8];
    let limit = prop_oneof![9 => 1..=6usize, 3 => Just(20), 1 => Just(0)];
    (0..WORKERS, [want(), want(), want()], limit, ttl(), mode, full)
        .prop_map(|(worker, wants, limit, ttl, mode, full)| ClaimOp { worker, wants, limit, ttl, mode, full })
}

fn finish() -> impl Strategy<Value = FinishOp> {
    let state = weighted(0.1, any::<u8>());
    let draw = select(vec![0, u64::MAX / 2, u64::MAX]);
    (lease(), prop::bool::weighted(0.1), outcome(), 0..3u8, draw, state, any::<bool>()).prop_map(
        |(lease, expired, outcome, policy, draw, state, blame)| FinishOp {
            lease,
            expired,
            outcome,
            policy,
            draw,
            state,
            blame,
        },
    )
}

fn outcome() -> impl Strategy<Value = OutcomeOp> {
    prop_oneof![
        20 => any::<bool>().prop_map(|result| OutcomeOp::Complete { result }),
        24 => (code(), weighted(0.3, 0..=90u8)).prop_map(|(code, retry_after)| OutcomeOp::Failed { code, retry_after }),
        5 => (0..=30u8).prop_map(OutcomeOp::Snooze),
        2 => Just(OutcomeOp::RescheduleNow),
        2 => (0..=30u8).prop_map(OutcomeOp::RescheduleIn),
        2 => (-30..=30i8).prop_map(OutcomeOp::RescheduleAt),
        8 => awaited().prop_map(OutcomeOp::AwaitBatch),
        6 => Just(OutcomeOp::Released),
        12 => Just(OutcomeOp::Crashed),
        3 => Just(OutcomeOp::LeaseLost),
        1 => any::<bool>().prop_map(|group| OutcomeOp::FailedWithout { group }),
    ]
}

/// A job that has crashed before crashes again.
fn crash() -> impl Strategy<Value = Op> {
    (0..2usize, 0..3u8).prop_map(|(nth, policy)| {
        Op::Finish(vec![FinishOp {
            lease: LeasePick::Crashed(nth),
            expired: false,
            outcome: OutcomeOp::Crashed,
            policy,
            draw: 0,
            state: None,
            blame: false,
        }])
    })
}

/// Some codes more often than others, so that groups meet their fault again.
fn code() -> impl Strategy<Value = u8> {
    prop_oneof![2 => 0..2u8, 1 => 0..14u8]
}

fn move_group() -> impl Strategy<Value = Op> {
    let to = prop_oneof![3 => Just(GroupState::Resolved), 1 => select(GroupState::ALL)];
    (0..6usize, to).prop_map(|(group, to)| Op::MoveGroup { group, to })
}

fn extend() -> impl Strategy<Value = Op> {
    (weighted(0.2, 0..WORKERS), vec(lease(), 1..=3), ttl()).prop_map(|(worker, leases, ttl)| Op::Extend {
        worker,
        leases,
        ttl,
    })
}

fn give_up() -> impl Strategy<Value = Op> {
    (jobs(Kind::Queued, Kind::Queued), 0..3u8, keep()).prop_map(|(jobs, code, keep)| Op::GiveUp {
        jobs,
        code,
        keep,
    })
}

fn breaker() -> impl Strategy<Value = Op> {
    let change = prop_oneof![
        2 => of(1..=60u8).prop_map(|seconds| BreakerChange::Hold { seconds }),
        5 => Just(BreakerChange::Release),
        3 => Just(BreakerChange::Open),
        1 => (1..=60u8).prop_map(BreakerChange::Throttle),
        4 => (0..WORKERS).prop_map(BreakerChange::StartProbe),
        2 => Just(BreakerChange::ProbeGood),
        1 => Just(BreakerChange::ProbeBad),
        2 => Just(BreakerChange::Success),
    ];
    (0..3u8, change, prop::bool::weighted(0.15)).prop_map(|(target, change, stale)| Op::Breaker {
        target,
        change,
        stale,
    })
}

/// One to three jobs, mostly of the kinds on which the act can be done.
fn jobs(likely: Kind, also: Kind) -> impl Strategy<Value = Vec<JobPick>> {
    vec(prop_oneof![6 => job(likely), 3 => job(also), 2 => job(Kind::Any), 1 => job(Kind::Unknown)], 1..=3)
}

fn job(of: Kind) -> impl Strategy<Value = JobPick> {
    (0..8usize).prop_map(move |nth| JobPick { of, nth })
}

fn lease() -> impl Strategy<Value = LeasePick> {
    prop_oneof![
        10 => (0..4usize).prop_map(LeasePick::Standing),
        3 => (0..3usize).prop_map(LeasePick::Superseded),
        3 => (0..8usize).prop_map(LeasePick::Given),
        1 => (0..6usize).prop_map(LeasePick::Forged),
    ]
}

/// Seconds that [`wait`] can meet exactly.
fn ttl() -> impl Strategy<Value = u8> {
    prop_oneof![Just(5u8), Just(60), Just(0)]
}

/// Milliseconds. Whatever ends at an instant is looked at before it, at it and behind it.
fn wait() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 1..=60_000u64, 1 => Just(5_000), 1 => Just(60_000), 1 => Just(1_000)]
}

fn batch() -> impl Strategy<Value = BatchPick> {
    prop_oneof![
        60 => (0..3usize).prop_map(BatchPick::Open),
        4 => (0..3usize).prop_map(BatchPick::Any),
        1 => Just(BatchPick::Unknown),
    ]
}

fn awaited() -> impl Strategy<Value = BatchPick> {
    prop_oneof![
        8 => (0..3usize).prop_map(BatchPick::Running),
        1 => (0..3usize).prop_map(BatchPick::Any),
        1 => Just(BatchPick::Unknown),
    ]
}

fn keep() -> impl Strategy<Value = Option<u8>> {
    weighted(0.7, prop_oneof![Just(0u8), Just(60)])
}

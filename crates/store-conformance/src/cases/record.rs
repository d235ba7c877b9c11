//! What is kept about a failure: one record per attempt, bounded, clean, and grouped by fault.

use redrive_model::limits::{MAX_CONTEXT_BYTES, MAX_MESSAGE_BYTES, MAX_PUBLIC_MESSAGE_CHARS};
use redrive_model::text::CUT_MARK;
use redrive_model::{Code, Failure, Outcome, State};
use redrive_store::{Claimed, Finish, Finished, GroupFilter, NewJob, PageRequest};

use crate::Harness;
use crate::kit::{Kit, secs};

/// One record per attempt, which nothing that happens later changes.
pub async fn e1_one_immutable_record_per_attempt(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.job_on(&["gateway"])).await;
    let first = k.claim_one().await;
    let started = k.now().await;
    k.advance(secs(2)).await;
    let failure = Failure::new(Code::GwBusy, "the gateway is busy").status(503).with("host", "a.example");
    fail(&k, &first, failure).await;
    let before = k.store.attempts(id).await.unwrap();
    let one = &before[0];
    assert_eq!((one.job, one.token, one.number, one.generation), (id, first.lease.token, 1, 1));
    assert_eq!((one.worker, one.started_at, one.ended_at), (Some(k.worker(1)), Some(started), k.now().await));
    assert_eq!((one.outcome.as_str(), one.code, one.target_status), ("retry", Some(Code::GwBusy), Some(503)));
    assert_eq!(one.message.as_deref(), Some("the gateway is busy"));
    assert_eq!(one.context.as_deref(), Some(r#"{"host":"a.example"}"#));
    assert_eq!((one.policy.clone(), one.late.clone()), (Some(k.policy.version()), None));
    k.advance(secs(60)).await;
    let second = k.claim_one().await;
    k.fail(&second, Code::HandlerFailed).await;
    k.retry(id).await;
    let third = k.claim_one().await;
    k.complete(&third).await;
    let after = k.store.attempts(id).await.unwrap();
    assert_eq!(after.len(), 3);
    assert_eq!(after[0], before[0]);
    assert_eq!(after.iter().map(|a| a.generation).collect::<Vec<_>>(), [1, 1, 2]);
    assert_eq!(after.iter().map(|a| a.number).collect::<Vec<_>>(), [1, 2, 1]);
    k.audit().await;
}

/// Message and context are cut at their caps and say so; the sentence for people stays short.
pub async fn e2_records_are_bounded_and_say_that_they_were_cut(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    let mut failure = Failure::new(Code::HandlerFailed, "long ".repeat(10_000)).say(&"sorry ".repeat(1_000));
    for n in 0..50 {
        failure = failure.with(&format!("fact\n{n}"), "y".repeat(1_500));
    }
    fail(&k, &claimed, failure).await;
    let attempt = &k.store.attempts(id).await.unwrap()[0];
    let message = attempt.message.as_deref().unwrap();
    assert!(message.len() <= MAX_MESSAGE_BYTES && message.ends_with(CUT_MARK), "{message}");
    let context = attempt.context.as_deref().expect("what fits of the context is kept");
    assert!(context.len() <= MAX_CONTEXT_BYTES + 64, "{} bytes", context.len());
    assert!(context.contains("context_cut") && context.contains("fact 0"), "{context}");
    let said = k.row(id).await.failure_message.unwrap();
    assert!(said.chars().count() <= MAX_PUBLIC_MESSAGE_CHARS, "{said}");
    assert_eq!(k.dead_of(id).await.message, message);
    k.audit().await;
}

/// Text that no database likes, NUL bytes among it, and a message of 100 MB are recorded; no job is lost over them.
pub async fn e3_hostile_text_and_huge_messages_are_recorded(h: &dyn Harness) {
    let k = Kit::new(h);
    let hostile = [
        "nul \0 in the middle\0".to_owned(),
        "emoji 🦀 and \u{1F468}\u{200d}\u{1F469} and \u{10ffff}".to_owned(),
        "\u{202e}reversed \u{feff} \u{ffff} \u{fffe}".to_owned(),
        String::from_utf8_lossy(b"\xff\xfe\xed\xa0\x80 lone surrogate").into_owned(),
        "'; DROP TABLE jobs; -- \\ \" % _ $1 ?1 {scan} :before".to_owned(),
        String::new(),
        "x".repeat(100 << 20),
    ];
    k.put_n(hostile.len()).await;
    let claimed = k.claim(hostile.len()).await;
    for (one, text) in claimed.iter().zip(&hostile) {
        let nested = serde_json::json!({ "deep": ["\0", text.get(..64.min(text.len())).unwrap_or("")] });
        let short = text.chars().take(100).collect::<String>();
        let failure = Failure::new(Code::HandlerFailed, text)
            .with("text", short.as_str())
            .with("nested", nested)
            .say(&short);
        fail(&k, one, failure).await;
        let id = one.lease.job;
        assert_eq!(k.row(id).await.state, State::Failed);
        let attempt = &k.store.attempts(id).await.unwrap()[0];
        let message = attempt.message.as_deref().unwrap();
        assert!(message.len() <= MAX_MESSAGE_BYTES && !message.contains(['\0', '\n']), "{message:?}");
        assert_eq!(k.dead_of(id).await.message, message);
        assert!(k.row(id).await.failure_message.is_some_and(|text| !text.contains('\0')));
    }
    let attempts = k.store.attempts(claimed[1].lease.job).await.unwrap();
    assert!(attempts[0].message.as_deref().unwrap().contains("emoji 🦀"));
    k.audit().await;
}

/// Labels are cleaned and cut, inputs are kept byte by byte.
pub async fn labels_are_cleaned_and_inputs_kept(h: &dyn Harness) {
    let k = Kit::new(h);
    let input: Vec<u8> = (0..=255).collect();
    let label = Some(format!("a\0b\nc\u{202e}{}", "ä".repeat(500)));
    let id = k.put_one(NewJob { label, input: input.clone(), ..k.job() }).await;
    let empty = k.put_one(NewJob { label: Some(" \n ".into()), input: Vec::new(), ..k.job() }).await;
    let claimed = k.claim(2).await;
    assert_eq!((claimed[0].input.clone(), claimed[1].input.clone()), (input, Vec::new()));
    let label = k.row(id).await.label.unwrap();
    assert!(
        label.starts_with("a\u{fffd}b c\u{fffd}ä") && label.len() <= 255 && label.ends_with(CUT_MARK),
        "{label}"
    );
    assert_eq!(claimed[0].label.as_deref(), Some(label.as_str()));
    assert_eq!(k.row(empty).await.label, None);
    k.audit().await;
}

/// What people outside see is the registry's sentence, never the operator's line with its paths and hosts.
pub async fn e6_the_public_message_has_no_path_and_no_stack(h: &dyn Harness) {
    let k = Kit::new(h);
    let inner = k.put_dead(vec![k.job()]).await[0];
    let said = k.row(inner).await.failure_message.unwrap();
    assert_eq!(said, Code::HandlerFailed.entry().what_happened);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    let text = "open /var/lib/redrive/x.pdf: os error 5\n  at main.rs:17\n  at lib.rs:3";
    fail(&k, &claimed, Failure::new(Code::InvalidMapping, text)).await;
    let row = k.row(id).await;
    let said = row.failure_message.unwrap();
    assert_eq!(said, Code::Gw4xx.entry().what_happened, "an inner code shows its public one's sentence");
    assert!(!said.contains('/') && !said.contains(".rs"), "{said}");
    assert_eq!(row.failure_code, Some(Code::InvalidMapping), "operators see the inner code");
    let line = k.store.attempts(id).await.unwrap()[0].message.clone().unwrap();
    assert!(line.contains("os error 5") && !line.contains('\n'), "{line}");
    k.audit().await;
}

/// The same fault in many jobs is one group, whatever the numbers, ids and addresses; another fault is another one.
pub async fn e8_the_same_fault_is_one_group(h: &dyn Harness) {
    let k = Kit::new(h);
    let same = [
        "job 0190c1a2-7b4e-7cc1-9d55-0123456789ab: page 7 of 120 at https://a.example/1 is damaged",
        "job 01aabbcc-7b4e-7cc1-9d55-ffffffffffff: page 118 of 3000 at https://b.example/2?x=1 is damaged",
    ];
    let first_seen = k.now().await;
    for text in [same[0], same[1], same[0], "font 7 is damaged"] {
        k.put_one(k.job_on(&["gateway"])).await;
        let claimed = k.claim_one().await;
        let finish = k.failure_saying(&claimed, Code::HandlerFailed, text).await;
        k.finish(finish).await;
        k.advance(secs(1)).await;
    }
    // The same words with another code, workload or target are another fault.
    k.put(vec![k.job_of("other"), k.job_on(&["disk"])]).await;
    for claimed in k.claim(2).await {
        let finish = k.failure_saying(&claimed, Code::HandlerFailed, "font 7 is damaged").await;
        k.finish(finish).await;
    }
    let groups = k.store.groups(GroupFilter::default(), PageRequest::default()).await.unwrap().rows;
    let sizes: Vec<_> =
        groups.iter().map(|g| (g.workload.as_str(), g.target.as_ref().map(|t| t.as_str()), g.open)).collect();
    assert_eq!(groups.len(), 4, "{sizes:?}");
    let pages = groups.iter().find(|g| g.message.contains("page")).unwrap();
    assert_eq!((pages.failures, pages.open, pages.code), (3, 3, Code::HandlerFailed));
    assert_eq!((pages.first_seen, pages.target.clone()), (first_seen, Some(crate::kit::target("gateway"))));
    assert!(pages.last_seen > pages.first_seen);
    k.audit().await;
}

/// Attempts that are retried count in their group too, without making a dead letter.
pub async fn a_retried_failure_counts_in_its_group(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    for _ in 0..3 {
        let claimed = k.claim_one().await;
        k.fail(&claimed, Code::GwTimeout).await;
        k.advance(secs(60)).await;
    }
    let groups = k.store.groups(GroupFilter::default(), PageRequest::default()).await.unwrap().rows;
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].failures, groups[0].open, groups[0].sample), (3, 1, id));
    k.audit().await;
}

/// Ends the attempt with this failure, by the policy's word; it must be recorded.
async fn fail(k: &Kit<'_>, claimed: &Claimed, failure: Failure) {
    let outcome = Outcome::Failed { code: failure.code, retry_after: failure.retry_after };
    let finish: Finish = k.decided(claimed, outcome, Some(failure)).await;
    assert!(matches!(k.finish(finish).await, Finished::Recorded(_)));
}

//! The audit trail: what a line of it says, how long it may be, and that it only grows.

use redrive_store::{ActEnd, ActRow, NewAct, PageRequest, Purge, Scope};

use crate::Harness;
use crate::kit::{Kit, secs};

fn act(subject: &str) -> NewAct {
    NewAct {
        actor: "ann".into(),
        action: "target.hold".into(),
        subject: subject.into(),
        reason: None,
        scope: Some(Scope::Act),
        request_id: Some("5f0c3a9b7d2e4810".into()),
    }
}

async fn trail(k: &Kit<'_>) -> Vec<ActRow> {
    k.store.acts(redrive_store::ActFilter::default(), PageRequest::default()).await.unwrap().rows
}

/// With which scope, by which request, from what to what: all of it is kept, and what nobody said is none.
pub async fn an_act_says_with_what_right_by_which_request_and_what_it_changed(h: &dyn Harness) {
    let k = Kit::new(h);
    for scope in Scope::ALL.map(Some).into_iter().chain([None]) {
        let wanted = NewAct { scope, ..act("gateway") };
        let number = k.store.note_act(wanted.clone()).await.unwrap();
        let end = ActEnd::from("held").from_to("closed", "held until tomorrow");
        k.store.conclude_act(number, end).await.unwrap();
        let row = trail(&k).await.remove(0);
        let expected = ActRow {
            number,
            at: k.now().await,
            act: wanted,
            outcome: Some("held".into()),
            before: Some("closed".into()),
            after: Some("held until tomorrow".into()),
        };
        assert_eq!(row, expected);
    }
    let engines = NewAct { scope: None, request_id: None, ..act("gateway") };
    let number = k.store.note_act(engines.clone()).await.unwrap();
    k.store.conclude_act(number, "3 of 3".into()).await.unwrap();
    let row = trail(&k).await.remove(0);
    assert_eq!((row.act, row.outcome.as_deref()), (engines, Some("3 of 3")));
    assert_eq!((row.before, row.after), (None, None));
}

/// Every text of a line is one line, cut to its bound, and without what moves or hides text.
pub async fn the_texts_of_an_act_are_bounded_lines(h: &dyn Harness) {
    let k = Kit::new(h);
    let rude = || format!("a\nb\0{}\u{202e}", "é".repeat(5_000));
    let number = k
        .store
        .note_act(NewAct {
            actor: rude(),
            action: rude(),
            subject: rude(),
            reason: Some(rude()),
            scope: None,
            request_id: Some(rude()),
        })
        .await
        .unwrap();
    let end = ActEnd::from(rude()).from_to(rude(), rude());
    k.store.conclude_act(number, end).await.unwrap();
    let row = trail(&k).await.remove(0);
    let short = [Some(row.act.actor), Some(row.act.action), Some(row.act.subject), row.act.reason];
    let short = short.into_iter().chain([row.act.request_id, row.before, row.after]).map(|text| (text, 255));
    for (text, most) in short.chain([(row.outcome, 2_000)]) {
        let text = text.unwrap();
        assert!(text.len() <= most && text.len() > most / 2, "{} of {most}", text.len());
        assert!(text.starts_with("a b\u{fffd}é"), "{text}");
    }
    let number = k.store.note_act(NewAct { request_id: Some(" \n".into()), ..act("x") }).await.unwrap();
    k.store.conclude_act(number, ActEnd::from("done").from_to(" ", "")).await.unwrap();
    let row = trail(&k).await.remove(0);
    assert_eq!((row.act.request_id, row.before, row.after), (None, None, None), "what says nothing is none");
}

/// An act ends once; no line is changed or removed, by us or by hand; no number is given twice; retention leaves all of them.
pub async fn the_trail_only_grows(h: &dyn Harness) {
    let k = Kit::new(h);
    let ended = k.store.note_act(act("first")).await.unwrap();
    let open = k.store.note_act(act("second")).await.unwrap();
    k.store.conclude_act(ended, ActEnd::from("held").from_to("closed", "held")).await.unwrap();
    k.store.conclude_act(ended, ActEnd::from("nothing happened").from_to("x", "y")).await.unwrap();
    k.store.conclude_act(open + 1_000, "of nobody".into()).await.unwrap();
    let before = trail(&k).await;
    assert_eq!((before.len(), before[1].outcome.as_deref()), (2, Some("held")), "what was said first stands");
    assert_eq!(before[1].after.as_deref(), Some("held"));
    let mut tries = vec!["DELETE FROM audit".to_owned(), format!("DELETE FROM audit WHERE number = {open}")];
    tries.push(format!("UPDATE audit SET outcome = 'other' WHERE number = {ended}"));
    tries.push(format!("UPDATE audit SET outcome = NULL WHERE number = {ended}"));
    for change in ["actor", "action", "subject", "reason", "request_id"] {
        tries.push(format!("UPDATE audit SET {change} = 'x', outcome = 'x' WHERE number = {open}"));
    }
    for change in ["scope = 'admin'", "scope = NULL", "at = 0", "before = 'x'", "after = 'x'"] {
        tries.push(format!("UPDATE audit SET {change} WHERE number = {open}"));
    }
    tries.push(format!("UPDATE audit SET scope = 'all', outcome = 'x' WHERE number = {open}"));
    for sql in tries {
        let said = h.raw(&sql).await.expect_err(&sql);
        assert!(said.contains("the audit trail only grows"), "{sql}: {said}");
    }
    h.raw("INSERT INTO audit (at, actor, action, subject, scope) VALUES (0, 'a', 'b', 'c', 'all')")
        .await
        .expect_err("a scope that is none");
    let dead = k.put_dead(vec![k.job()]).await[0];
    k.advance(k.policy.keep.failed.unwrap() * 20 + secs(1)).await;
    let purged = k.store.purge(Purge { after: None, scan: 100 }).await.unwrap();
    assert_eq!((purged.jobs, k.store.job(dead).await.unwrap()), (1, None));
    assert_eq!(trail(&k).await, before);
    let next = k.store.note_act(act("third")).await.unwrap();
    assert!(next > open && open > ended, "{ended} {open} {next}");
}

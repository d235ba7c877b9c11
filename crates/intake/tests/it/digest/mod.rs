//! Digests from rows to a real mail server, and to files.

mod desk;
mod files;
mod fleet;

use std::time::Duration;

use redrive_engine::model::{Code, State};
use redrive_engine::store::intake::{DeliveryState, Stage};

use desk::{Desk, address, send, server};

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn one_mail_tells_what_is_new_failing_recovered_and_given_up_and_is_marked_after_the_250() {
    let Some(server) = server() else { return };
    let (desk, to) = (Desk::new(), address("jane"));
    let engine = desk.engine().await;
    let digests = desk.digests(&engine, server.post());
    digests.handle();
    desk.address("jane", &to, true).await;
    let dead = desk.failed(1, "jane", "briefe/1871.pdf", Code::GwPasswordRequired).await;
    let waits = desk.failed(2, "jane", "karten/7.pdf", Code::GwTimeout).await;
    let recovers = desk.failed(3, "jane", "karten/8.pdf", Code::GwTimeout).await;
    desk.stage(dead, Stage::Failed).await;
    send(&digests, &engine).await;
    let first = server.taken(&to);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0]["headers"]["Subject"], "2 new failures, 1 given up — intake");
    let text = first[0]["text"].as_str().unwrap();
    assert!(text.contains("1 file: The PDF needs a password.") && text.contains("briefe/1871.pdf"), "{text}");
    assert_eq!(desk.untold_records().await, 0);
    let delivery = desk.deliveries().await.remove(0);
    assert_eq!((delivery.state, delivery.tries, delivery.documents), (DeliveryState::Sent, 1, 3));
    assert_eq!((delivery.address, delivery.error), (to.clone(), None));
    // Nothing changed: nothing is sent, and no job is opened.
    desk.clock.advance(HOUR * 24);
    send(&digests, &engine).await;
    assert_eq!((server.taken(&to).len(), desk.deliveries().await.len()), (1, 1));
    assert_eq!(desk.mails().await.len(), 1);
    desk.stage(recovers, Stage::Done).await;
    desk.fails_again(waits, "jane", Code::GwTimeout).await;
    send(&digests, &engine).await;
    let second = server.taken(&to);
    assert_eq!(second.len(), 2);
    assert_eq!(second[1]["headers"]["Subject"], "1 still failing, 1 recovered — intake");
    assert_ne!(second[0]["headers"]["Message-ID"], second[1]["headers"]["Message-ID"]);
    assert!(
        second[1]["text"].as_str().unwrap().contains("2026-03-01 12:00 to 2026-03-02"),
        "since the last one"
    );
}

#[tokio::test]
async fn a_server_that_asks_for_time_is_asked_again_with_the_same_letter_and_nothing_is_told_before() {
    let Some(server) = server() else { return };
    let (desk, busy) = (Desk::new(), address("451"));
    let engine = desk.engine().await;
    let digests = desk.digests(&engine, server.post());
    digests.handle();
    desk.address("jane", &busy, true).await;
    let id = desk.failed(1, "jane", "a.pdf", Code::GwTimeout).await;
    send(&digests, &engine).await;
    let waiting = desk.deliveries().await.remove(0);
    assert_eq!((waiting.state, waiting.tries), (DeliveryState::Waiting, 1));
    assert!(waiting.error.unwrap().starts_with("MAIL_UNAVAILABLE: naming the recipients"));
    assert_eq!(desk.untold_records().await, 1);
    // Another digest while this one waits opens no second mail, and what comes now is not part of the letter.
    desk.clock.advance(Duration::from_secs(1));
    desk.fails_again(id, "jane", Code::GwTimeout).await;
    send(&digests, &engine).await;
    assert_eq!(desk.mails().await.len(), 1);
    let to = address("jane");
    desk.intake.remove_notification("jane", &busy).await.unwrap();
    desk.address("jane", &to, true).await;
    desk.clock.advance(HOUR);
    engine.run_until_idle().await.unwrap();
    assert_eq!(server.taken(&to).len(), 1);
    let sent = desk.deliveries().await;
    assert_eq!((sent.len(), sent[0].state, sent[0].tries), (1, DeliveryState::Sent, 2));
    assert_eq!(desk.untold_records().await, 1, "what came meanwhile was not told");
    send(&digests, &engine).await;
    assert_eq!((server.taken(&to).len(), desk.untold_records().await), (2, 0));
}

#[tokio::test]
async fn a_refused_mail_is_given_up_and_shown_and_the_next_digest_tells_it() {
    let Some(server) = server() else { return };
    for asks in ["550", "data-554"] {
        let (desk, refused, good) = (Desk::new(), address(asks), address("jane"));
        let engine = desk.engine().await;
        let digests = desk.digests(&engine, server.post());
        digests.handle();
        desk.address("jane", &refused, true).await;
        desk.failed(1, "jane", "a.pdf", Code::GwTimeout).await;
        send(&digests, &engine).await;
        let failed = desk.deliveries().await.remove(0);
        assert_eq!((failed.state, failed.tries), (DeliveryState::Failed, 1));
        assert!(failed.error.unwrap().starts_with("MAIL_REFUSED: "));
        let job = desk.mails().await.remove(0);
        assert_eq!((job.state, job.failure_code), (State::Failed, Some(Code::MailRefused)));
        assert_eq!(desk.untold_records().await, 1);
        desk.intake.remove_notification("jane", &refused).await.unwrap();
        desk.address("jane", &good, true).await;
        desk.clock.advance(HOUR * 24);
        send(&digests, &engine).await;
        assert_eq!((server.taken(&good).len(), desk.untold_records().await), (1, 0));
    }
}

#[tokio::test]
async fn of_two_addresses_the_one_that_is_busy_is_asked_again_alone() {
    let Some(server) = server() else { return };
    let (desk, good, busy, other) = (Desk::new(), address("jane"), address("450"), address("joe"));
    let engine = desk.engine().await;
    let digests = desk.digests(&engine, server.post());
    digests.handle();
    desk.address("jane", &good, true).await;
    desk.address("jane", &busy, true).await;
    desk.failed(1, "jane", "a.pdf", Code::GwTimeout).await;
    send(&digests, &engine).await;
    let sent = desk.deliveries().await.remove(0);
    assert_eq!((sent.state, sent.address), (DeliveryState::Sent, good.clone()));
    assert!(sent.error.unwrap().contains(&format!("{busy} was refused")), "it is shown");
    assert_eq!(desk.untold_records().await, 0, "one of them has it");
    desk.intake.remove_notification("jane", &busy).await.unwrap();
    desk.address("jane", &other, true).await;
    desk.clock.advance(HOUR);
    engine.run_until_idle().await.unwrap();
    assert_eq!((server.taken(&good).len(), server.taken(&other).len()), (1, 1));
    assert_eq!(desk.mails().await[0].state, State::Complete);
}

#[tokio::test]
async fn owners_without_an_address_go_to_default_and_without_that_it_is_shown_and_waits() {
    let Some(server) = server() else { return };
    let (desk, default, off) = (Desk::new(), address("desk"), address("mute"));
    let engine = desk.engine().await;
    let digests = desk.digests(&engine, server.post());
    digests.handle();
    desk.address("mute", &off, false).await;
    desk.failed(1, "jane", "a.pdf", Code::GwTimeout).await;
    desk.failed(2, "mute", "b.pdf", Code::GwTimeout).await;
    send(&digests, &engine).await;
    let shown = desk.deliveries().await;
    assert_eq!((shown.len(), shown[0].owner.as_str(), shown[0].state), (1, "jane", DeliveryState::Failed));
    assert!(shown[0].error.as_ref().unwrap().contains("there is no address for jane, and none for default"));
    desk.address("default", &default, true).await;
    send(&digests, &engine).await;
    let taken = server.taken(&default);
    assert_eq!(taken.len(), 1, "what is switched off goes to nobody");
    assert!(taken[0]["text"].as_str().unwrap().contains("Files of jane"));
    assert_eq!((desk.untold_records().await, server.taken(&off).len()), (1, 0));
    desk.address("mute", &off, true).await;
    send(&digests, &engine).await;
    assert_eq!((desk.untold_records().await, server.taken(&off).len()), (0, 1));
}

#[tokio::test]
async fn hostile_names_and_owners_make_no_header_and_no_markup() {
    let Some(server) = server() else { return };
    let (desk, to) = (Desk::new(), address("desk"));
    let engine = desk.engine().await;
    let digests = desk.digests(&engine, server.post());
    digests.handle();
    desk.address("default", &to, true).await;
    let owner = "jane\r\nBcc: evil@example.org\r\n\r\n<b>";
    desk.failed(1, owner, "x\r\nBcc: evil@example.org\r\n.\r\n<script>.pdf", Code::GwTimeout).await;
    send(&digests, &engine).await;
    let taken = server.taken(&to);
    assert_eq!(taken.len(), 1);
    let (mail, headers) = (&taken[0], taken[0]["headers"].as_object().unwrap());
    assert!(!headers.contains_key("Bcc") && mail["defects"].as_array().unwrap().is_empty(), "{mail}");
    assert_eq!(mail["to"].as_array().unwrap().len(), 1);
    let html = mail["html"].as_str().unwrap();
    assert!(!html.contains("<script>") && !html.contains("<b>,"), "{html}");
}

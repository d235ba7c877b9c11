//! Without a mail server.

use redrive_engine::model::Code;
use redrive_engine::store::intake::DeliveryState;
use redrive_intake::digest::Post;

use super::desk::{Desk, send};

#[tokio::test]
async fn without_a_mail_server_a_digest_is_two_files_and_told_when_they_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let shelf: redrive_blob::Location = folder.path().to_str().unwrap().parse().unwrap();
    let spool = folder.path().join("spool");
    let shelf = shelf.open_shelf(&spool, Vec::<(String, String)>::new()).await.unwrap();
    let desk = Desk::new();
    let engine = desk.engine().await;
    let digests = desk.digests(&engine, Post::Files(shelf.blobs()));
    digests.handle();
    desk.failed(1, "../../jane", "briefe/1871.pdf", Code::GwPasswordRequired).await;
    // No address is needed for a file.
    send(&digests, &engine).await;
    let written = desk.deliveries().await.remove(0);
    assert_eq!((written.state, written.documents), (DeliveryState::Written, 1));
    assert!(written.address.starts_with("reports/digest/2026-03-01_------jane_"), "{}", written.address);
    let html = folder.path().join(&written.address);
    assert!(std::fs::read_to_string(&html).unwrap().contains("1 new failure"));
    let text = std::fs::read_to_string(html.with_extension("txt")).unwrap();
    assert!(text.contains("briefe/1871.pdf"), "{text}");
    assert_eq!(desk.untold_records().await, 0);
    send(&digests, &engine).await;
    let files = std::fs::read_dir(folder.path().join("reports/digest")).unwrap().count();
    assert_eq!((files, desk.deliveries().await.len()), (2, 1), "nothing changed, nothing is written");
}

#[tokio::test]
async fn a_file_that_cannot_be_written_leaves_everything_untold() {
    let folder = tempfile::tempdir().unwrap();
    let shelf: redrive_blob::Location = folder.path().to_str().unwrap().parse().unwrap();
    let spool = folder.path().join("spool");
    let shelf = shelf.open_shelf(&spool, Vec::<(String, String)>::new()).await.unwrap();
    // A file has the folder's name.
    std::fs::write(folder.path().join("reports"), "in the way").unwrap();
    let desk = Desk::new();
    let engine = desk.engine().await;
    let digests = desk.digests(&engine, Post::Files(shelf.blobs()));
    digests.handle();
    desk.failed(1, "jane", "a.pdf", Code::GwTimeout).await;
    send(&digests, &engine).await;
    assert_eq!((desk.untold_records().await, desk.mails().await.len()), (1, 1));
    assert!(desk.mails().await[0].attempt >= 1);
}

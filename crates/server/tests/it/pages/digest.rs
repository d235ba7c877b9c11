//! The digest's pages: by plain links and forms, and a mail that can do nothing.

use redrive_store::PageRequest;

use super::reader::{BROWSER, Page, press, visit};
use crate::digest::failed;
use crate::world::{World, eventually};

#[tokio::test]
async fn the_preview_shows_each_owner_and_the_mail_is_a_document_without_rights() {
    let world = World::start().await;
    let mut operator = world.operator();
    let empty = visit(&mut operator, "/digest").await;
    assert_eq!(empty.text(".empty"), "Nothing changed since the last digest, so nothing would be sent.");
    assert!(empty.all("main form button").is_empty(), "there is nothing to send");
    let hostile = "<script>alert(1)</script>&owner=x";
    failed(&world, 1, hostile, "<img src=x onerror=alert(1)>.pdf").await;
    let page = visit(&mut operator, "/digest").await;
    assert_eq!(page.text(".letter h2"), hostile, "as text");
    assert!(page.text(".letter pre").contains("<img src=x onerror=alert(1)>.pdf"));
    assert_eq!(page.text("main form button"), "Send to 1 owner now");
    let link = page.all(".letter p a").into_iter().find_map(|a| a.attr("href").map(str::to_owned)).unwrap();
    let mail = operator.ask("GET", &link, BROWSER).await;
    assert_eq!(mail.status, 200);
    let policy = mail.header("content-security-policy").unwrap();
    assert!(policy.starts_with("sandbox; default-src 'none'; style-src 'unsafe-inline'"), "{policy}");
    assert!(!policy.contains("script-src") && !policy.contains("allow-"), "{policy}");
    assert!(!mail.text().contains("<script>") && !mail.text().contains("<img"), "{}", mail.text());
    assert_eq!(operator.ask("GET", "/digest/mail?owner=nobody", BROWSER).await.status, 404);
    let sent = operator.ask("POST", "/digest", BROWSER).await;
    assert_eq!((sent.status, sent.header("location")), (303, Some("/digest?sent=1")));
    eventually(async || {
        world.documents.deliveries(PageRequest::default()).await.unwrap().rows.into_iter().next()
    })
    .await;
    let page = visit(&mut operator, "/digest?sent=1").await;
    assert_eq!(page.text("tbody td strong"), "Written to a file");
    assert_eq!(page.text(".remark"), "It is being sent. How it went is told below.");
}

#[tokio::test]
async fn addresses_are_kept_by_plain_forms_and_a_wrong_one_is_said_beside_what_was_typed() {
    let world = World::start().await;
    let mut operator = world.operator();
    assert_eq!(visit(&mut operator, "/notifications").await.all("tbody tr").len(), 0);
    let added = press(&mut operator, "/notifications", "owner=jane&address=jane%40example.org&act=add").await;
    assert_eq!((added.status, added.header("location")), (303, Some("/notifications")));
    let page = visit(&mut operator, "/notifications").await;
    assert_eq!((page.text("tbody th"), page.all("tbody button").len()), ("jane".to_owned(), 2));
    assert_eq!(
        press(&mut operator, "/notifications", "owner=jane&address=jane%40example.org&act=disable")
            .await
            .status,
        303
    );
    let page = visit(&mut operator, "/notifications").await;
    assert!(page.text("tbody tr").contains("switched off") && page.text("tbody tr").contains("Switch on"));
    let wrong =
        Page::read(press(&mut operator, "/notifications", "owner=%3Cb%3E&address=nobody&act=add").await);
    assert_eq!(wrong.answer.status, 400);
    assert!(wrong.text("#flaw").contains("is no mail address"));
    assert_eq!(wrong.one("#owner").attr("value"), Some("<b>"));
    assert_eq!(
        press(&mut operator, "/notifications", "owner=jane&address=jane%40example.org&act=remove")
            .await
            .status,
        303
    );
    assert_eq!(
        press(&mut operator, "/notifications", "owner=jane&address=jane%40example.org&act=remove")
            .await
            .status,
        404
    );
    assert_eq!(press(&mut operator, "/notifications", "act=explode").await.status, 400);
    assert_eq!(visit(&mut operator, "/notifications").await.all("tbody tr").len(), 0);
}

//! Intake's pages: the board, a document, and what failed; by plain links and forms.

use redrive_model::{JobId, LeaseToken};
use redrive_store::intake::{DocumentChange, NewMove, Stage};

use super::reader::{BROWSER, text, visit};
use crate::client::{Answer, Client};
use crate::digest::failed;
use crate::world::World;

async fn press(client: &mut Client, path: &str, fields: &str) -> Answer {
    let mut request = client
        .request("POST", path)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(fields.to_owned());
    for (name, value) in BROWSER {
        request = request.header(*name, *value);
    }
    client.send(request).await
}

/// A document of jane's that was given up.
async fn given_up(world: &World, path: &str) -> JobId {
    let id = failed(world, 1, "jane", path).await;
    let change = DocumentChange::stage(Stage::Failed);
    world.documents.change_document(id, LeaseToken(1), change).await.unwrap();
    id
}

#[tokio::test]
async fn the_board_shows_what_is_where_and_hostile_names_are_text() {
    let world = World::start().await;
    let mut operator = world.operator();
    let empty = visit(&mut operator, "/intake").await;
    let titles: Vec<String> = empty.all(".column h2").iter().map(|h| h.text().collect()).collect();
    assert_eq!(titles, ["Queue 0", "Processing 0", "Result 0", "Failed 0"]);
    let hostile = "<img src=x onerror=alert(1)>.pdf";
    let id = given_up(&world, hostile).await;
    let page = visit(&mut operator, "/intake").await;
    assert_eq!(page.text(".column[aria-label=Failed] li a"), hostile, "as text");
    assert_eq!(page.text(".column[aria-label=Failed] .number"), "1");
    let piece = operator.ask("GET", "/intake", &[("hx-request", "true")]).await;
    assert!(piece.text().starts_with("<section id=\"board\""), "{}", piece.text());
    let link = page.all(".column li a")[0].attr("href").unwrap().to_owned();
    assert_eq!(link, format!("/intake/documents/{id}"));
    let document = visit(&mut operator, &link).await;
    assert_eq!(document.text("h1"), hostile);
    assert!(document.text(".toned").contains("given up"));
    assert_eq!(visit(&mut operator, "/failure-records?owner=jane").await.all("tbody tr").len(), 1);
    assert_eq!(visit(&mut operator, "/failure-records?owner=bob").await.all("tbody tr").len(), 0);
    assert_eq!(operator.ask("GET", "/failure-records?ownr=bob", BROWSER).await.status, 400);
    assert_eq!(operator.ask("GET", "/intake/documents/none", BROWSER).await.status, 404);
}

#[tokio::test]
async fn a_document_tells_where_its_pdf_went_and_a_report_can_be_asked_for() {
    let world = World::start().await;
    let mut operator = world.operator();
    let id = given_up(&world, "team/a.pdf").await;
    let goal = NewMove {
        document: id,
        token: LeaseToken(1),
        to: "failed/team/a.pdf".into(),
        why: "failed".into(),
        meta: None,
    };
    world.documents.begin_move(goal).await.unwrap();
    let path = format!("/intake/documents/{id}");
    let page = visit(&mut operator, &path).await;
    assert!(text(page.all("table tbody tr")[0]).contains("failed/team/a.pdf"));
    let asked = press(&mut operator, &format!("{path}/report"), "").await;
    assert_eq!(
        (asked.status, asked.header("location")),
        (303, Some(format!("{path}?report=asked").as_str()))
    );
    assert!(visit(&mut operator, &format!("{path}?report=asked")).await.text(".remark").contains("report"));
    let api = operator.get(&format!("/api{path}")).await.json();
    assert_eq!((&api["path"], &api["moves"][0]["why"]), (&"team/a.pdf".into(), &"failed".into()), "{api}");
    let listed = operator.get("/api/intake/documents?stage=failed,gone&q=TEAM").await.json();
    assert_eq!(listed["documents"][0]["id"], id.to_string(), "{listed}");
    let done = DocumentChange::stage(Stage::Done);
    world.documents.change_document(id, LeaseToken(2), done).await.unwrap();
    assert_eq!(
        operator.get("/api/intake/documents?stage=failed").await.json()["documents"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    for (query, code) in [
        ("stage=lost", "VALIDATION_INVALID_FIELD"),
        ("state=done", "VALIDATION_UNKNOWN_FIELD"),
        ("cursor=x", "VALIDATION_CURSOR"),
    ] {
        assert_eq!(operator.get(&format!("/api/intake/documents?{query}")).await.code(), code);
    }
    let report = operator.post(&format!("/api{path}/report")).await;
    assert_eq!(report.status, 202);
    let acts = operator.get("/api/audit").await.json();
    assert_eq!(acts["acts"][0]["action"], "intake.report", "{acts}");
}

#[tokio::test]
async fn settings_are_changed_by_forms_and_what_cannot_be_is_refused() {
    let world = World::start().await;
    let mut operator = world.operator();
    for (fields, status) in
        [("paused=true", 303), ("max_retries=7", 303), ("max_retries=1001", 400), ("", 400), ("x=1", 400)]
    {
        assert_eq!(press(&mut operator, "/intake/settings", fields).await.status, status, "{fields}");
    }
    let page = visit(&mut operator, "/intake").await;
    assert!(page.text("p.notice").contains("Paused"));
    assert_eq!(page.all("#retries")[0].attr("value"), Some("7"));
    assert!(page.all("form button").iter().any(|button| text(*button) == "Go on"));
}

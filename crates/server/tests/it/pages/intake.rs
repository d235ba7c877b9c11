//! Intake's pages: the board, a document, and what failed; by plain links and forms.

use redrive_model::{JobId, LeaseToken, instant};
use redrive_store::intake::{DocumentChange, NewDocument, NewMove, Stage};

use super::reader::{BROWSER, Page, press, text, visit};
use crate::digest::failed;
use crate::world::{ROOT, World};

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
    assert!(document.text(".explain").contains("We tried once and gave up."));
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
    assert_eq!(asked.status, 303);
    let there = asked.header("location").unwrap().to_owned();
    assert!(there.starts_with(&format!("{path}?report=")), "{there}");
    let page = visit(&mut operator, &there).await;
    assert!(page.text(".remark").contains("being written"));
    assert_eq!(page.one("#document").attr("hx-get"), Some(there.as_str()));
    assert_eq!(page.one("#document").attr("hx-trigger"), Some("every 2s"), "somebody waits for it");
    assert_eq!(visit(&mut operator, &path).await.one("#document").attr("hx-trigger"), None);
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
    assert!(page.text("p.remark").contains("Paused"));
    assert_eq!(page.all("#retries")[0].attr("value"), Some("7"));
    assert!(page.all("form button").iter().any(|button| text(*button) == "Go on"));
}

#[tokio::test]
async fn a_report_is_handed_out_and_what_never_failed_has_none() {
    let world = World::start().await;
    let mut operator = world.operator();
    let id = given_up(&world, "team/Größe.pdf").await;
    let path = format!("/api/intake/documents/{id}/report");
    assert_eq!(operator.get(&path).await.code(), "NOT_FOUND", "none was written");
    let page = visit(&mut operator, &format!("/intake/documents/{id}")).await;
    assert!(page.all("a[download]").is_empty());
    let key = "reports/failure_analysis/team/Größe_analysis_1.docx";
    let change = DocumentChange { report: Some(key.to_owned()), ..DocumentChange::default() };
    assert!(world.documents.change_document(id, LeaseToken(2), change).await.unwrap());
    assert_eq!(operator.get(&path).await.code(), "NOT_FOUND", "somebody took it away");
    let file = world.folder.path().join("intake").join(key);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, b"PK a report").unwrap();
    let page = visit(&mut operator, &format!("/intake/documents/{id}")).await;
    assert_eq!(page.one("a[download]").attr("href"), Some(path.as_str()));
    let report = operator.get(&path).await;
    assert_eq!((report.status, &report.body[..]), (200, &b"PK a report"[..]));
    assert!(report.header("content-type").unwrap().ends_with("wordprocessingml.document"));
    assert!(report.header("content-disposition").unwrap().contains("Gr%C3%B6%C3%9Fe_analysis_1.docx"));
    assert_eq!(report.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    let fine = NewDocument {
        id: JobId::from_parts(instant::from_millis(9), [9; 10]),
        root: ROOT.into(),
        path: "fine.pdf".into(),
        key: "queue/fine.pdf".into(),
        version: "1".into(),
        bytes: 1,
        owner: "jane".into(),
    };
    world.documents.take_in(vec![fine.clone()]).await.unwrap();
    let refused = operator.post(&format!("/api/intake/documents/{}/report", fine.id)).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "CONFLICT_STATE"));
    let page = visit(&mut operator, &format!("/intake/documents/{}", fine.id)).await;
    assert!(!page.all("button").iter().any(|button| text(*button).contains("report")));
}

#[tokio::test]
async fn failures_are_found_by_whole_days() {
    let world = World::start().await;
    let mut operator = world.operator();
    // It failed on the first of March.
    failed(&world, 1, "jane", "a.pdf").await;
    for (query, rows) in [
        ("since=2026-03-01&until=2026-03-01", 1),
        ("since=2026-03-02", 0),
        ("until=2026-02-28", 0),
        ("since=2026-03-01T08:00:00Z", 1),
        ("since=2026-03-01T08:00:01Z", 0),
        ("code=gw_password_required&notified=false&q=SAID+BY", 1),
        ("notified=true", 0),
    ] {
        let page = visit(&mut operator, &format!("/failure-records?{query}")).await;
        assert_eq!(page.all("tbody tr").len(), rows, "{query}");
    }
    let asked = "since=2026-03-01&until=2026-03-01T09:00:00Z&owner=jane";
    let page = visit(&mut operator, &format!("/failure-records?{asked}")).await;
    let field = |name: &str| {
        let field = page.one(&format!("#{name}"));
        (field.attr("type").unwrap().to_owned(), field.attr("value").unwrap().to_owned())
    };
    assert_eq!(field("since"), ("date".to_owned(), "2026-03-01".to_owned()));
    assert_eq!(field("until"), ("text".to_owned(), "2026-03-01T09:00:00Z".to_owned()));
    assert_eq!(field("owner").1, "jane");
    assert_eq!(operator.ask("GET", "/failure-records?since=soon", BROWSER).await.status, 400);
}

/// What operators find in the navigation.
const DESK: [&str; 9] =
    ["/overview", "/dead", "/replays", "/breakers", "/workers", "/intake", "/audit", "/tokens", "/settings"];

#[tokio::test]
async fn operators_find_their_pages_from_everywhere_and_others_see_no_such_link() {
    let world = World::start().await;
    let (mut operator, mut ann) = (world.operator(), world.client());
    let desk = |page: &Page| -> Vec<String> {
        page.all("nav[aria-label=Operators] a").iter().map(|a| a.attr("href").unwrap().to_owned()).collect()
    };
    for path in ["/", "/jobs", "/fetch", "/failures", "/failures/GW_TIMEOUT", "/docs", "/intake", "/digest"] {
        let page = visit(&mut operator, path).await;
        assert_eq!(desk(&page), DESK, "{path}");
        let here = page.all("header [aria-current=page]").iter().any(|a| a.attr("href") == Some("/intake"));
        assert_eq!(here, ["/intake", "/digest"].contains(&path), "{path}");
    }
    let missing = visit(&mut operator, "/intake/documents/none").await;
    assert_eq!(missing.answer.status, 404);
    assert_eq!(desk(&missing), DESK);
    for path in ["/", "/jobs", "/fetch", "/failures", "/docs", "/intake"] {
        let page = visit(&mut ann, path).await;
        assert!(desk(&page).is_empty() && page.all("[action='/sign-out']").is_empty(), "{path}");
    }
    let without = World::with(|setup| setup.has_intake = false).await;
    let page = visit(&mut without.operator(), "/jobs").await;
    assert!(!desk(&page).contains(&"/intake".to_owned()) && page.all("[action='/sign-out']").len() == 1);
}

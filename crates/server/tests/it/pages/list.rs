//! The list: names of any kind, filters, pages, results in one ZIP.

use super::reader::{BROWSER, Page, SCRIPT, text, visit};
use crate::gateway::Mood;
use crate::world::{World, pdf};

#[tokio::test]
async fn names_of_any_kind_are_shown_and_do_nothing() {
    let world = World::with(|setup| setup.works = false).await;
    let mut client = world.client();
    let long = format!("{}.pdf", "ä".repeat(124));
    let names = [
        "<img src=x onerror=alert(1)>.pdf",
        "\"'><script>alert(1)</script>.pdf",
        "فاتورة.pdf",
        "👩🏽‍🚀 🎉.pdf",
        "&amp;&lt;.pdf",
        &long,
    ];
    for (n, name) in (0..).zip(names) {
        client.upload(name, &pdf(n), None).await;
    }
    let page = visit(&mut client, "/jobs").await;
    let mut shown: Vec<String> = page.all("td.file a.name bdi").into_iter().map(text).collect();
    shown.reverse();
    let listed = client.get("/api/jobs").await.json();
    let mut expected: Vec<String> = listed["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["filename"].as_str().unwrap().to_owned())
        .collect();
    expected.reverse();
    assert_eq!(shown, expected);
    assert!(
        shown[0].contains("<img") && shown[2].contains("فاتورة") && shown[4] == "&amp;&lt;.pdf",
        "{shown:?}"
    );
    assert!(page.all("img").is_empty() && !page.answer.text().contains("<script>alert"));
    for job in listed["jobs"].as_array().unwrap() {
        let page = visit(&mut client, &format!("/jobs/{}", job["id"].as_str().unwrap())).await;
        assert_eq!(page.text("h1"), job["filename"].as_str().unwrap());
        assert!(page.text("title").starts_with("Queued: "), "{}", page.text("title"));
    }
}

#[tokio::test]
async fn the_form_keeps_what_was_asked_and_pages_go_on_from_there() {
    let world = World::start().await;
    let mut client = world.client();
    for n in 0..3 {
        world.converted(&mut client, &format!("good {n}.pdf"), &pdf(n)).await;
    }
    client.upload("bad & <one>.pdf", b"no", None).await;
    let page = visit(&mut client, "/jobs?status=failed&q=bad+%26").await;
    assert_eq!(page.one("#q").attr("value"), Some("bad &"));
    assert_eq!(page.one("#status option[selected]").attr("value"), Some("failed"));
    assert_eq!(page.all("tr[data-job]").len(), 1);
    assert_eq!(page.one("#jobs").attr("hx-get"), Some("/jobs?status=failed&q=bad+%26"));
    assert_eq!(page.text("title"), "1 failed · Jobs · Redrive");
    let (mut path, mut seen) = ("/jobs?status=complete&limit=2".to_owned(), Vec::new());
    loop {
        let page = visit(&mut client, &path).await;
        seen.extend(page.all("td.file a.name").into_iter().map(text));
        let Some(next) = page.all("a[rel=next]").first().map(|a| a.attr("href").unwrap().to_owned()) else {
            break;
        };
        path = next;
    }
    assert_eq!(seen, ["good 2.pdf", "good 1.pdf", "good 0.pdf"]);
    let several = visit(&mut client, "/jobs?status=failed&status=held,cancelled").await;
    assert_eq!(several.all("tr[data-job]").len(), 1);
    let chosen = several.one("#status option[selected]");
    assert_eq!(
        (chosen.attr("value"), text(chosen).as_str()),
        (Some("failed,held,cancelled"), "Failed, Held, Cancelled")
    );
    assert_eq!(several.one("#jobs").attr("hx-get"), Some("/jobs?status=failed%2Cheld%2Ccancelled"));
    let nothing = visit(&mut client, "/jobs?q=nowhere").await;
    assert_eq!(nothing.text(".empty p"), "No job matches.");
    let fresh = visit(&mut world.client(), "/jobs").await;
    assert_eq!(
        (fresh.text(".empty p").as_str(), fresh.text("title").as_str()),
        ("You have no jobs yet.", "Jobs · Redrive")
    );
}

#[tokio::test]
async fn a_script_gets_the_table_alone() {
    let world = World::start().await;
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let piece = Page::piece(client.ask("GET", "/jobs?limit=10", SCRIPT).await);
    assert_eq!(piece.one("#jobs").attr("hx-get"), Some("/jobs?limit=10"));
    assert_eq!(piece.one("#jobs").attr("data-complete"), Some("1"));
    assert_eq!(piece.all(&format!("#job-{id}")).len(), 1);
    assert_eq!(piece.answer.header("vary"), Some("HX-Request"));
}

#[tokio::test]
async fn what_cannot_be_tried_again_says_why() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    let can = world.converted(&mut client, "can.pdf", &pdf(1)).await;
    let gone = world.converted(&mut client, "gone.pdf", &pdf(2)).await;
    client.upload("refused.pdf", b"no", None).await;
    std::fs::remove_file(world.folder.path().join("uploads").join(format!("{gone}.pdf"))).unwrap();
    let page = visit(&mut client, "/jobs").await;
    let refused =
        client.get("/api/jobs?q=refused").await.json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    for (id, reason) in [(&gone, "The PDF was removed."), (&refused, "It was refused")] {
        let button = page.one(&format!("#retry-{id}"));
        assert_eq!((button.attr("aria-disabled"), button.attr("type")), (Some("true"), Some("button")));
        let described = button.attr("aria-describedby").unwrap();
        assert!(page.text(&format!("#{described}")).starts_with(reason), "{reason}");
    }
    let button = page.one(&format!("#retry-{can}"));
    assert_eq!(button.attr("aria-disabled"), None);
    assert_eq!(page.all(&format!("form[action='/jobs/{can}/retry'][method=post]")).len(), 1);
    let how = page.text(&format!("#job-{can} .how"));
    assert!(how.starts_with("Failed after 1 attempt Couldn’t convert this file"), "{how}");
}

#[tokio::test]
async fn a_list_that_is_kept_fresh_asks_for_each_source_once() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    let mut ids = Vec::new();
    for n in 0..12 {
        ids.push(world.converted(&mut client, &format!("{n}.pdf"), &pdf(n)).await);
    }
    world.sources.asked();
    visit(&mut client, "/jobs").await;
    assert_eq!(world.sources.asked(), 12);
    for path in ["/jobs", "/jobs?status=failed", "/", &format!("/jobs/{}", ids[0])] {
        visit(&mut client, path).await;
        assert_eq!(world.sources.asked(), 0, "{path}");
    }
    // Whoever retries learns that it is gone, and so does the list.
    std::fs::remove_file(world.folder.path().join("uploads").join(format!("{}.pdf", ids[3]))).unwrap();
    assert_eq!(client.post(&format!("/api/jobs/{}/retry", ids[3])).await.code(), "EXPIRED");
    world.sources.asked();
    let page = visit(&mut client, "/jobs").await;
    assert_eq!(page.one(&format!("#retry-{}", ids[3])).attr("aria-disabled"), Some("true"));
    assert_eq!((page.all("button[aria-disabled]").len(), world.sources.asked()), (1, 0));
}

#[tokio::test]
async fn a_place_that_is_silent_keeps_no_list_waiting() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    for n in 0..12 {
        world.converted(&mut client, &format!("{n}.pdf"), &pdf(n)).await;
    }
    world.sources.asked();
    world.sources.fall_silent();
    for _ in 0..3 {
        let page = visit(&mut client, "/jobs").await;
        assert_eq!(page.all("button[aria-disabled]").len(), 0, "a retry may be tried");
    }
    assert!(world.sources.asked() <= 8, "few questions are on their way at once");
}

#[tokio::test]
async fn chosen_results_come_as_one_zip_without_script() {
    let world = World::start().await;
    let mut client = world.client();
    let a = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let b = world.converted(&mut client, "b.pdf", &pdf(2)).await;
    let page = visit(&mut client, "/jobs").await;
    for id in [&a, &b] {
        let box_ = page.one(&format!("#pick-{id}"));
        assert_eq!(
            (box_.attr("name"), box_.attr("value"), box_.attr("form")),
            (Some("ids"), Some(id.as_str()), Some("zip"))
        );
    }
    assert_eq!(page.one("#zip").attr("action"), Some("/jobs/zip"));
    let answer = client.ask("GET", &format!("/jobs/zip?ids={a}&ids={b}&ids=evil%0d%0a"), BROWSER).await;
    let location = answer.header("location").unwrap().to_owned();
    assert_eq!((answer.status, location.as_str()), (303, format!("/api/download.zip?ids={a},{b}").as_str()));
    let zip = client.ask("GET", &location, BROWSER).await;
    assert_eq!((zip.status, zip.header("content-type")), (200, Some("application/zip")));
}

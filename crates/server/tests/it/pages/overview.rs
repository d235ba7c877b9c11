//! The overview as a page: one sentence first, a table for every chart, and links that lead to lists.

use super::reader::{Page, SCRIPT, press, text, visit};
use crate::client::Client;
use crate::desk::refused;
use crate::fetch;
use crate::overview::counted;
use crate::world::{World, eventually, pdf};

/// The page, once it says this.
async fn saying(operator: &mut Client, words: &str) -> Page {
    eventually(async || {
        let page = visit(operator, "/overview").await;
        page.text(".verdict").starts_with(words).then_some(page)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_sentence_says_whether_something_is_wrong_and_leads_to_it() {
    let world = World::start().await;
    let mut operator = world.operator();
    let well = saying(&mut operator, "All is well.").await;
    assert!(well.all(".verdict a").is_empty());
    assert_eq!(well.text("title"), "Overview · Redrive");
    assert_eq!(press(&mut operator, "/breakers", "act=hold&target=gateway&reason=x").await.status, 303);
    let held =
        saying(&mut operator, "Nothing is broken, but you should know: gateway is held by an operator.")
            .await;
    assert_eq!(held.one(".verdict a").attr("href"), Some("/breakers"));
    let piece = Page::piece(operator.ask("GET", "/overview?window=6h", SCRIPT).await);
    assert_eq!(piece.one("#overview").attr("hx-get"), Some("/overview?window=6h"));
    assert_eq!(piece.text("nav.tabs [aria-current=true]"), "Last 6 hours");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_is_told_with_the_way_to_end_it() {
    let world = World::start().await;
    let mut operator = world.operator();
    let convert = redrive_model::WorkloadName::new("convert").unwrap();
    for workload in [Some(&convert), None] {
        let by = redrive_engine::By::new("ann");
        world.engine.pause(workload, &by).await.unwrap();
        let name = workload.map_or("", |name| name.as_str());
        let page = saying(&mut operator, "Nothing is broken, but you should know:").await;
        let link = page.one(".verdict a").attr("href").unwrap().to_owned();
        assert_eq!(link, "/workers#paused");
        let page = visit(&mut operator, "/workers").await;
        assert_eq!(page.one("form[action=\"/workers\"] input[name=workload]").attr("value"), Some(name));
        let pressed =
            press(&mut operator, "/workers", &format!("act=resume&workload={name}&reason=lunch")).await;
        assert_eq!(pressed.status, 303, "{}", pressed.text());
        assert!(visit(&mut operator, "/workers").await.all("#paused").is_empty());
        saying(&mut operator, "All is well.").await;
    }
    assert_eq!(press(&mut operator, "/workers", "act=stop&workload=convert").await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_chart_has_its_table_and_every_link_leads_somewhere() {
    let (world, mut operator) = refused(3).await;
    world.converted(&mut world.client(), "good.pdf", &pdf(9)).await;
    counted(&world).await;
    let page = saying(&mut operator, "Something is wrong: convert: “The PDF is damaged").await;
    assert_eq!(page.text("title"), "1 wrong · Overview · Redrive");
    let panels = page.all(".panel");
    let names: Vec<_> = panels.iter().map(|panel| panel.attr("aria-label").unwrap()).collect();
    let expected =
        ["Throughput", "Failures by code", "Targets", "How long attempts took", "Depth now", "Workers"];
    assert_eq!(names, expected);
    for panel in panels {
        let drawn = panel.select(&scraper::Selector::parse("svg.chart").unwrap()).count();
        let tables = panel.select(&scraper::Selector::parse("details table").unwrap()).count();
        assert!(drawn <= tables, "{}", panel.html());
    }
    let row = page.all(".table-failures tbody tr")[0];
    assert_eq!(text(row), "GW_4XX 0 3 3");
    let counts: Vec<u64> = page
        .all(".table-throughput tbody tr")
        .iter()
        .map(|row| text(*row).rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .collect();
    assert_eq!(counts.iter().sum::<u64>(), 3, "given up");
    let drawn: Vec<_> = page.all("svg.chart rect.bad");
    assert!(!drawn.is_empty());
    let links: std::collections::BTreeSet<String> =
        page.all("#overview a").iter().map(|a| a.attr("href").unwrap().to_owned()).collect();
    assert!(
        links.contains("/dead?code=GW_4XX")
            && links.iter().any(|link| link.starts_with("/jobs?status=failed&code=GW_4XX&ended_since=")),
        "{links:?}"
    );
    for link in links {
        assert_eq!(visit(&mut operator, &link).await.answer.status, 200, "{link}");
    }
    let causes = visit(&mut operator, "/dead?code=GW_4XX").await;
    assert_eq!(causes.all("#groups tbody tr").len(), 1);
    assert_eq!(visit(&mut operator, "/dead?code=NOT_PDF").await.text(".empty"), "Nothing of this kind.");
}

/// What counts downloads leads to downloads, and what counts ends leads to what has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_of_jobs_leads_to_as_many_jobs() {
    let (world, mut operator) = refused(2).await;
    let mut ann = world.client();
    world.converted(&mut ann, "good.pdf", &pdf(9)).await;
    let batch = fetch::accepted(&mut ann, &["a", "b", "no-c"]).await;
    fetch::ended(&mut ann, &batch).await;
    assert_eq!(press(&mut operator, "/breakers", "act=hold&target=gateway&reason=x").await.status, 303);
    for n in [20, 21] {
        assert_eq!(ann.upload("held.pdf", &pdf(n), None).await.status, 201);
    }
    counted(&world).await;
    let page = eventually(async || {
        let page = visit(&mut operator, "/overview").await;
        page.text(".tiles").starts_with("2 waiting").then_some(page)
    })
    .await;
    let mut told = Vec::new();
    for link in page.all("#overview a[href^='/jobs?']") {
        let (words, list) = (text(link), link.attr("href").unwrap());
        let Some(n) = words.split(' ').next().and_then(|word| word.parse::<usize>().ok()) else { continue };
        if words.contains("oldest") {
            continue;
        }
        let listed = visit(&mut operator, list).await.all("#jobs tbody tr").len();
        assert_eq!(listed, n, "{words} leads to {list}");
        told.push(words);
    }
    for words in ["2 waiting", "0 running", "3 complete in 1h", "3 given up in 1h", "2"] {
        assert!(told.iter().any(|told| told == words), "{words}: {told:?}");
    }
}

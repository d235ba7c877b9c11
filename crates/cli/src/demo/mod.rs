//! A demo: the real server and engine, with a gateway that misbehaves on schedule, people who hand in documents, and an operator.
//!
//! Nothing here is faked: rows come from work that was done or failed. It knows no setting but its own, so that it never meets
//! somebody's data, and it is slow enough to be left alone overnight.

mod edge;
mod operator;
mod origin;
mod papers;
mod people;
mod schedule;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use redrive_api::client::Client;
use redrive_gateway::http;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use url::Url;

use crate::builtin;
use crate::command::serve::serve;
use crate::exit::{Exit, Stop};
use crate::local::ServerFile;
use crate::settings::table::Use;
use crate::settings::{Values, max_upload};
use crate::signals::until;
use edge::Edge;
use schedule::{Mood, Schedule};

/// Where a demo runs, and how fast.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) data: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) speed: f64,
    /// The folder stays when the demo ends.
    pub(crate) kept: bool,
}

/// The clock that everybody in the demo goes by.
#[derive(Debug, Clone)]
struct Stage {
    schedule: Schedule,
    began: Instant,
}

impl Stage {
    /// How long it has run.
    fn since(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits for so long of the demo's time.
    async fn rest(&self, time: Duration) {
        tokio::time::sleep(self.schedule.lasts(time)).await;
    }
}

/// Runs until it is told to stop.
pub(crate) async fn run(scene: &Scene, stopped: watch::Receiver<bool>) -> Result<(), Stop> {
    let stage = Stage { schedule: Schedule::new(scene.speed), began: Instant::now() };
    let most = max_upload(&Values::of_demo(&[]))?;
    let edge = Edge::new(stage.schedule, stage.began, most);
    let around = move |gateway| edge.around(gateway);
    let gateway = builtin::start_behind(http::Settings::default(), most, around, stopped.clone()).await?;
    let origin = origin::serve(stage.clone(), stopped.clone()).await?;
    let values = Values::of_demo(&settings(scene, &stage.schedule, &gateway));
    values.check(Use::MAX)?;
    let (up, is_up) = oneshot::channel();
    let serving = serve(&values, |here| drop(up.send(here)), stopped.clone());
    let playing = async {
        let Ok(here) = is_up.await else { return Ok(()) };
        introduce(scene);
        tokio::select! {
            () = until(stopped) => Ok(()),
            played = play(&stage, scene, &here, &origin) => played,
        }
    };
    let (served, played) = tokio::join!(serving, playing);
    served.and(played)
}

/// Everybody at once, for ever.
async fn play(stage: &Stage, scene: &Scene, here: &ServerFile, origin: &str) -> Result<(), Stop> {
    let url = Url::parse(&here.url).map_err(|error| Stop::new(Exit::Failed, error.to_string()))?;
    let operator = Client::new(url.clone(), Some(&here.token))?;
    tokio::join!(
        people::visit(stage, &url, scene.data.join("outbox")),
        people::work_in_the_office(stage, scene.data.join("office")),
        origin::fetch(stage, &url, origin),
        operator::watch(stage, &operator),
        narrate(stage),
    );
    Ok(())
}

/// Says what the gateway does, as it begins.
async fn narrate(stage: &Stage) {
    let mut told = Mood::Well;
    loop {
        let next = stage.schedule.next_act(stage.since());
        tokio::time::sleep_until(stage.began + next).await;
        let mood = stage.schedule.mood(stage.since());
        if mood != told {
            tell(stage, mood.words());
            told = mood;
        }
    }
}

fn introduce(scene: &Scene) {
    let end = if scene.kept { "the folder stays" } else { "the folder is removed" };
    line(&format!(
        "\nThis is a demo. Open the link after “sign in” and look around; Ctrl-C ends it, and {end}.\n\
         Each minute the gateway is well, becomes slow, goes down and comes back. Three visitors upload PDFs, an office puts some\n\
         into {}, a list of URLs is fetched, and at 0:45 what was refused is replayed.\n",
        scene.data.join("office/queue").display()
    ));
}

/// One line of the story, with the demo's time.
fn tell(stage: &Stage, words: &str) {
    let seconds = stage.since().as_secs();
    line(&format!("{:>3}:{:02}  {words}", seconds / 60, seconds % 60));
}

/// A reader that has seen enough does not end the demo.
fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// What the demo's server runs with: short times, so that everything is seen within a minute and little is kept.
fn settings(scene: &Scene, schedule: &Schedule, gateway: &Url) -> Vec<(&'static str, String)> {
    let ms = |millis: u64| schedule.lasts(Duration::from_millis(millis)).as_millis().to_string();
    let data = scene.data.display().to_string();
    vec![
        ("LISTEN", scene.listen.to_string()),
        ("METRICS_LISTEN", "127.0.0.1:0".to_owned()),
        ("INTAKE_URL", format!("{data}/office")),
        ("DATA_DIR", data),
        ("GATEWAY_URL", gateway.to_string()),
        ("GATEWAY_TIMEOUT_MS", "10000".to_owned()),
        ("RETRY_BASE_DELAY_MS", ms(2_000)),
        ("RETRY_JITTER_MAX_MS", ms(1_000)),
        ("CIRCUIT_COOLDOWN_MS", ms(5_000)),
        ("INTAKE_INTERVAL_SEC", "5".to_owned()),
        ("INTAKE_MAX_RETRIES", "1".to_owned()),
        // Its own web server is one. Nobody from elsewhere can ask: it listens to this machine alone.
        ("FETCH_ALLOW_PRIVATE", "true".to_owned()),
        ("DOWNLOAD_RETRY_LIMIT", "1".to_owned()),
        ("DRAIN_TIMEOUT_SEC", "5".to_owned()),
        ("PDF_TTL_DAYS", "0.02".to_owned()),
        ("XML_TTL_DAYS", "0.04".to_owned()),
        ("RETENTION_INTERVAL_SEC", "60".to_owned()),
    ]
}

//! Intake put together: whose files they are, who processes them, who cleans up, who looks.

use std::sync::Arc;
use std::time::Duration;

use redrive_blob::Location;
use redrive_blob::room::Places;
use redrive_blob::shelf::Shelf;
use redrive_convert::{Gateway, TARGET};
use redrive_engine::{By, Engine};
use redrive_intake::{
    Analyst, Cleaner, Command, DocumentRetention, Intake, IntakeOptions, Mover, Place as Folder, Queue,
    QueueOptions, SETTLE,
};
use redrive_server::IntakeParts;
use redrive_store::intake::IntakeStore;

use super::engine_stop;
use crate::exit::{Exit, Stop};
use crate::settings::{Intaking, Place, Values};

/// The permanent jobs' names.
const QUEUE: &str = "intake.queue";
const CLEANER: &str = "intake.cleaner";
const RETENTION: &str = "intake.retention";
/// What is nobody's, or has ended unheard, is put right after so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Registers everything that intake needs, and makes its folders. Answers also the place itself, for whoever writes there too.
pub(crate) async fn register(
    engine: &Engine,
    store: &Arc<dyn IntakeStore>,
    intaking: &Intaking,
    gateway: &Gateway,
    max_result: u64,
    every: Duration,
    (place, values): (&Place, &Values),
) -> Result<(IntakeParts, Arc<dyn Shelf>), Stop> {
    let location = &intaking.place;
    let cannot = |error: &dyn std::fmt::Display| {
        Stop::new(Exit::Failed, format!("cannot open INTAKE_URL, {location}: {error}"))
    };
    let shelf = location.open_shelf(place.data_dir.join("spool"), values.variables()).await;
    let shelf: Arc<dyn Shelf> = shelf.map_err(|error| cannot(&error))?;
    let settle = match location {
        Location::Folder(folder) => {
            for name in [Folder::Queue, Folder::Pdf, Folder::Result, Folder::Failed, Folder::Reports] {
                std::fs::create_dir_all(folder.join(name.as_str())).map_err(|error| cannot(&error))?;
            }
            SETTLE
        }
        // Objects appear whole.
        Location::S3 { .. } => Duration::ZERO,
    };
    let mover = Mover::new(shelf.clone(), store.clone());
    let options = IntakeOptions {
        policy: intaking.policy.clone(),
        concurrency: intaking.concurrency,
        mapping: intaking.mapping.clone(),
        max_result,
        pages_per_part: intaking.pages_per_part,
        command: command(intaking)?,
    };
    let intake = Intake::new(engine.clone(), mover.clone(), gateway.clone(), options);
    engine.register(intake.parts());
    engine.register(intake);
    let policy = intaking.policy.clone();
    engine.register(Analyst::new(engine.store().clone(), mover.clone(), gateway.clone(), policy));
    let cleaner = Cleaner::new(engine.clone(), mover.clone());
    engine.projector(CLEANER, cleaner).await.map_err(engine_stop)?;
    let queue = QueueOptions {
        interval: intaking.interval,
        max_in_flight: intaking.max_in_flight,
        settle,
        // A program asks nobody: what it fails with is not blamed on the gateway.
        targets: if intaking.command.is_some() { Vec::new() } else { vec![TARGET.to_owned()] },
        patience: PATIENCE,
        room: Places::of(vec![shelf.blobs()]).folders(&place.homes()),
        reserve: intaking.reserve,
    };
    engine.permanent(QUEUE, Queue::new(engine.clone(), mover, queue)).await.map_err(engine_stop)?;
    let retention = DocumentRetention::new(engine.store().clone(), store.clone(), every);
    engine.permanent(RETENTION, retention).await.map_err(engine_stop)?;
    let parts = IntakeParts {
        store: store.clone(),
        place: shelf.blobs(),
        root: shelf.root().to_owned(),
        max_retries: intaking.max_retries,
        max_in_flight: intaking.max_in_flight,
        interval: intaking.interval,
    };
    Ok((parts, shelf))
}

fn command(intaking: &Intaking) -> Result<Option<Command>, Stop> {
    let wrong = |error| Stop::new(Exit::Usage, format!("INTAKE_COMMAND: {error}"));
    intaking.command.clone().map(Command::new).transpose().map_err(wrong)
}

/// Ends a cleaner that was there once and is no longer: a reader that never reads on would keep all events for ever.
pub(crate) async fn forget(engine: &Engine) -> Result<(), Stop> {
    let known = engine.readers().await.map_err(engine_stop)?.iter().any(|reader| reader.name == CLEANER);
    if known {
        let by = By::new("serve").because("INTAKE_URL is no longer set");
        for name in [CLEANER, QUEUE, RETENTION] {
            engine.remove_permanent(name, &by).await.map_err(engine_stop)?;
        }
        engine.forget_reader(CLEANER, &by).await.map_err(engine_stop)?;
        tracing::warn!(
            event = "intake.off",
            "INTAKE_URL is no longer set: PDFs stay where they are until it is set again"
        );
    }
    Ok(())
}

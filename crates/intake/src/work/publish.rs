//! What was made gets its name in `result/`, beside the PDF that follows it.

use redrive_blob::shelf::beside;
use redrive_blob::{BlobError, Key};
use redrive_engine::store::intake::DocumentRow;
use redrive_engine::{Code, Context, Failure};

use super::Intake;
use super::whole::Made;
use super::{Noted, Output};
use crate::layout::{Place, stem};

/// So many names are tried.
const NAMES: u32 = 1_000;

impl Intake {
    /// Finds a name that neither the PDF nor its output would share with anything, notes it, and publishes the output. Older results
    /// stay as they are.
    pub(super) async fn publish(
        &self,
        ctx: &Context,
        document: &DocumentRow,
        mut made: Made,
    ) -> Result<Noted, Failure> {
        let _naming = self.naming.lock().await;
        for n in 1..=NAMES {
            let pdf = numbered(Place::Result.of(&document.path), n)?;
            let output = Key::parse(&format!("{}.{}", stem(pdf.as_str()), made.ending));
            let output = output.map_err(|error| Failure::new(Code::IoError, error))?;
            if self.is_taken(&pdf).await? || self.is_taken(&output).await? {
                continue;
            }
            let noted = Noted {
                pdf: pdf.as_str().to_owned(),
                outputs: vec![Output {
                    key: output.as_str().to_owned(),
                    sha256: made.sealed.sha256().to_string(),
                    bytes: made.sealed.bytes(),
                }],
                pages: made.pages,
                warnings: made.warnings.clone(),
            };
            // The note first: what was named and not noted would be made again under another name.
            ctx.save_state(&noted).await?;
            match made.sealed.finish(&output).await {
                Ok(_) => return Ok(noted),
                Err(BlobError::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.failure()),
            }
        }
        Err(Failure::new(Code::IoError, format!("every name like {} is taken in result/", document.path)))
    }

    async fn is_taken(&self, key: &Key) -> Result<bool, Failure> {
        let found = self.mover.shelf.look(key).await.map_err(|error| error.failure())?;
        Ok(found.is_some())
    }
}

fn numbered<E: std::fmt::Display>(key: Result<Key, E>, n: u32) -> Result<Key, Failure> {
    let key = key.map_err(|error| Failure::new(Code::IoError, error))?;
    if n < 2 {
        return Ok(key);
    }
    beside(&key, n).map_err(|error| Failure::new(Code::IoError, error))
}

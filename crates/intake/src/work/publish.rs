//! What was made gets its name in `result/`, beside the PDF that follows it.

use redrive_blob::shelf::beside;
use redrive_blob::{BlobError, Key};
use redrive_engine::store::intake::DocumentRow;
use redrive_engine::{Code, Context, Failure};

use super::Intake;
use super::ways::Made;
use super::{Noted, Output};
use crate::layout::{Place, stem};

/// So many names are tried.
const NAMES: u32 = 1_000;

impl Intake {
    /// Finds a name that neither the PDF nor what was made of it would share with anything, notes it, and publishes what was made. Older
    /// results stay as they are.
    pub(super) async fn publish(
        &self,
        ctx: &Context,
        document: &DocumentRow,
        mut made: Made,
    ) -> Result<Noted, Failure> {
        let _naming = self.naming.lock().await;
        'names: for n in 1..=NAMES {
            let pdf = numbered(Place::Result.of(&document.path), n)?;
            if self.is_taken(&pdf).await? {
                continue;
            }
            let mut keys = Vec::with_capacity(made.files.len());
            for file in &made.files {
                let key = Key::parse(&format!("{}{}", stem(pdf.as_str()), file.suffix));
                let key = key.map_err(|error| Failure::new(Code::IoError, error))?;
                if self.is_taken(&key).await? {
                    continue 'names;
                }
                keys.push(key);
            }
            let outputs = made.files.iter().zip(&keys).map(|(file, key)| Output {
                key: key.as_str().to_owned(),
                sha256: file.sealed.sha256().to_string(),
                bytes: file.sealed.bytes(),
            });
            let noted = Noted {
                pdf: pdf.as_str().to_owned(),
                outputs: outputs.collect(),
                pages: made.pages,
                warnings: made.warnings.clone(),
            };
            // The note first: what was named and not noted would be made again under another name.
            ctx.save_state(&noted).await?;
            for (at, (file, key)) in made.files.iter_mut().zip(&keys).enumerate() {
                match file.sealed.finish(key).await {
                    Ok(_) => {}
                    Err(BlobError::AlreadyExists { .. }) if at == 0 => continue 'names,
                    // What has its name already has it for good: the next run makes all of them under another one.
                    Err(error) => return Err(error.failure()),
                }
            }
            return Ok(noted);
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

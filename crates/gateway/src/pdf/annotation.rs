//! Annotations and form fields, as far as they show text.

use super::content::Runner;
use super::field::Fields;
use super::matrix::Matrix;
use super::refusal::Refusal;
use hayro_syntax::object::{Array, Dict, Name, Object, Stream};

const HIDDEN: u32 = 1 << 1;
const NO_VIEW: u32 = 1 << 5;
/// Annotations of one page beyond this number are not looked at.
const MOST: usize = 100_000;

/// Draws the appearances of a page's annotations.
pub(crate) fn draw<'a>(
    runner: &mut Runner<'_, 'a>,
    page: &Dict<'a>,
    matrix: Matrix,
    fields: &Fields<'a>,
) -> Result<(), Refusal> {
    let Some(annotations) = page.get::<Array<'a>>("Annots") else { return Ok(()) };
    for annotation in annotations.iter::<Dict<'a>>().take(MOST) {
        let flags: u32 = annotation.get("F").unwrap_or(0);
        if flags & (HIDDEN | NO_VIEW) != 0 || runner.layers.hide(&annotation, "OC") {
            continue;
        }
        let Some(rectangle) = annotation.get::<[f64; 4]>("Rect") else { continue };
        let subtype = annotation.get::<Name<'_>>("Subtype");
        let form = match subtype.as_deref() {
            Some(b"Popup") => continue,
            Some(b"Widget") if fields.are_stale() => None,
            _ => appearance(&annotation),
        };
        match form {
            Some(form) => runner.appearance(&form, matrix, rectangle)?,
            None if subtype.as_deref() == Some(b"Widget") => {
                if let Some((content, resources)) = fields.appearance(&annotation, rectangle) {
                    runner.page(&content, &resources, matrix)?;
                }
            }
            None => {}
        }
    }
    Ok(())
}

/// The normal appearance: one form, or one for each state.
fn appearance<'a>(annotation: &Dict<'a>) -> Option<Stream<'a>> {
    match annotation.get::<Dict<'a>>("AP")?.get::<Object<'a>>("N")? {
        Object::Stream(form) => Some(form),
        Object::Dict(states) => states.get(annotation.get::<Name<'_>>("AS")?),
        _ => None,
    }
}

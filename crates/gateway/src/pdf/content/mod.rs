//! Runs content streams and notes which glyphs they draw where.
//!
//! Only what text depends upon is followed: transforms, fonts, spacing, marked content, layers and forms. Colours, paths and
//! pictures are passed over.

mod drawn;
mod lexer;
mod marked;
mod show;
mod state;

pub(crate) use drawn::{Drawn, Glyph, Mark, Mcid};

use super::font::Shelf;
use super::layers::Layers;
use super::limits::Budget;
use super::matrix::Matrix;
use super::refusal::{Limit, Refusal};
use super::unpack::unpack;
use hayro_syntax::object::{Dict, Name, ObjectIdentifier, Stream};
use lexer::{Lexer, Operand, plain_name};
use marked::Marked;
use state::{Pen, State};

/// States that can be saved; a stream that saves more is broken, and the rest is not remembered.
const MOST_SAVED: usize = 512;

/// Operators are counted in portions of this.
const PORTION: u64 = 1024;

/// Runs the content of one page, its forms and its annotations.
pub(crate) struct Runner<'r, 'a> {
    pub(crate) shelf: &'r mut Shelf,
    pub(crate) budget: &'r Budget,
    pub(crate) layers: &'r Layers,
    pub(crate) drawn: &'r mut Drawn,
    marked: Marked,
    /// The forms that are being drawn, so that none draws itself.
    active: Vec<ObjectIdentifier>,
    resources: Vec<Resources<'a>>,
}

/// The names that one content stream can use.
struct Resources<'a> {
    fonts: Dict<'a>,
    forms: Dict<'a>,
    properties: Dict<'a>,
    /// Fonts that were looked up before.
    known: Vec<(Vec<u8>, usize)>,
}

impl<'a> Resources<'a> {
    fn new(dict: &Dict<'a>) -> Self {
        Self {
            fonts: dict.get("Font").unwrap_or_default(),
            forms: dict.get("XObject").unwrap_or_default(),
            properties: dict.get("Properties").unwrap_or_default(),
            known: Vec::new(),
        }
    }
}

impl<'r, 'a> Runner<'r, 'a> {
    pub(crate) fn new(
        shelf: &'r mut Shelf,
        budget: &'r Budget,
        layers: &'r Layers,
        drawn: &'r mut Drawn,
    ) -> Self {
        Self {
            shelf,
            budget,
            layers,
            drawn,
            marked: Marked::default(),
            active: Vec::new(),
            resources: Vec::new(),
        }
    }

    /// Runs a page's content.
    pub(crate) fn page(&mut self, content: &[u8], resources: &Dict<'a>, page: Matrix) -> Result<(), Refusal> {
        self.with(resources, |runner| runner.run(content, State::new(page)))
    }

    /// Draws a form so that its box fills a rectangle: how annotations appear.
    pub(crate) fn appearance(
        &mut self,
        form: &Stream<'a>,
        page: Matrix,
        rectangle: [f64; 4],
    ) -> Result<(), Refusal> {
        let matrix = form.dict().get::<[f64; 6]>("Matrix").map_or(Matrix::IDENTITY, Matrix::new);
        let [x0, y0, x1, y1] = form.dict().get::<[f64; 4]>("BBox").unwrap_or([0.0, 0.0, 1.0, 1.0]);
        let corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)].map(|(x, y)| matrix.apply(x, y));
        let least = |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (left, right, low, high) = (least(|c| c.0), most(|c| c.0), least(|c| c.1), most(|c| c.1));
        let [rx0, ry0, rx1, ry1] = rectangle;
        let scale = |from: f64, to: f64| if from.abs() > 1e-6 { to / from } else { 1.0 };
        let (sx, sy) = (scale(right - left, (rx1 - rx0).abs()), scale(high - low, (ry1 - ry0).abs()));
        let fit = Matrix::new([sx, 0.0, 0.0, sy, rx0.min(rx1) - left * sx, ry0.min(ry1) - low * sy]);
        self.resources.push(Resources::new(&Dict::empty()));
        let done = self.form(form, State::new(fit.then(page)));
        self.resources.pop();
        done
    }

    fn with<T>(&mut self, resources: &Dict<'a>, then: impl FnOnce(&mut Self) -> T) -> T {
        self.resources.push(Resources::new(resources));
        let done = then(self);
        self.resources.pop();
        done
    }

    /// Draws a form in the state of whoever calls it.
    fn form(&mut self, form: &Stream<'a>, mut state: State) -> Result<(), Refusal> {
        let id = form.obj_id();
        if self.active.contains(&id) {
            return Ok(());
        }
        if self.active.len() >= self.budget.limits().nesting {
            return Err(Refusal::LimitExceeded(Limit::Nesting));
        }
        if self.layers.hide(form.dict(), "OC") {
            return Ok(());
        }
        self.budget.form()?;
        let Some(content) = unpack(form, self.budget)? else { return Ok(()) };
        if let Some(matrix) = form.dict().get::<[f64; 6]>("Matrix") {
            state.page = Matrix::new(matrix).then(state.page);
        }
        self.active.push(id);
        let stream = self.marked.stream;
        if form.dict().contains_key("StructParents") {
            self.marked.stream = id.obj_number;
        }
        let depth = self.marked.depth();
        let done = match form.dict().get::<Dict<'a>>("Resources") {
            Some(resources) => self.with(&resources, |runner| runner.run(&content, state)),
            None => self.run(&content, state),
        };
        self.marked.close_to(depth, self.drawn);
        self.marked.stream = stream;
        self.active.pop();
        done
    }

    fn run(&mut self, content: &[u8], mut state: State) -> Result<(), Refusal> {
        let mut lexer = Lexer::new(content, self.budget.limits().nesting);
        let mut saved: Vec<State> = Vec::new();
        let mut pen = Pen::START;
        let mut operators = 0_u64;
        while let Some(operator) = lexer.next()? {
            operators += 1;
            if operators.is_multiple_of(PORTION) {
                self.budget.operators(PORTION)?;
            }
            let arguments = Arguments { operands: &lexer.operands, strings: &lexer.strings };
            match operator {
                b"q" if saved.len() < MOST_SAVED => saved.push(state),
                b"Q" => {
                    if let Some(before) = saved.pop() {
                        state = before;
                    }
                }
                b"cm" => {
                    if let Some(matrix) = arguments.matrix() {
                        let moved = matrix.then(state.page);
                        if moved.is_finite() {
                            state.page = moved;
                        }
                    }
                }
                b"BT" => pen = Pen::START,
                b"Tf" => {
                    if let Some(name) = arguments.name() {
                        state.font = self.font(name)?;
                    }
                    state.size = arguments.last();
                }
                b"gs" | b"ET" => {}
                b"Tc" => state.char_space = arguments.last(),
                b"Tw" => state.word_space = arguments.last(),
                b"Tz" => state.stretch = arguments.last() / 100.0,
                b"TL" => state.leading = arguments.last(),
                b"Ts" => state.rise = arguments.last(),
                b"Td" => {
                    if let Some([x, y]) = arguments.numbers() {
                        pen.next_line(x, y);
                    }
                }
                b"TD" => {
                    if let Some([x, y]) = arguments.numbers() {
                        state.leading = -y;
                        pen.next_line(x, y);
                    }
                }
                b"Tm" => {
                    if let Some(matrix) = arguments.matrix() {
                        pen.set(matrix);
                    }
                }
                b"T*" => pen.next_line(0.0, -state.leading),
                b"Tj" | b"TJ" => self.show(arguments, &state, &mut pen)?,
                b"'" => {
                    pen.next_line(0.0, -state.leading);
                    self.show(arguments, &state, &mut pen)?;
                }
                b"\"" => {
                    if let Some([word, char]) = arguments.numbers() {
                        (state.word_space, state.char_space) = (word, char);
                    }
                    pen.next_line(0.0, -state.leading);
                    self.show(arguments, &state, &mut pen)?;
                }
                b"Do" => {
                    if let Some(form) = arguments.name().and_then(|name| self.named_form(name)) {
                        self.form(&form, state)?;
                    }
                }
                b"BMC" => {
                    let tag = arguments.name().unwrap_or_default();
                    self.marked.open(tag, None, self.drawn);
                }
                b"BDC" => self.open_marked(arguments),
                b"EMC" => self.marked.close(self.drawn),
                b"ID" => lexer.skip_picture(),
                _ => {}
            }
        }
        self.budget.operators(operators % PORTION)
    }

    fn font(&mut self, name: &[u8]) -> Result<Option<usize>, Refusal> {
        let Some(resources) = self.resources.last_mut() else { return Ok(None) };
        if let Some((_, place)) = resources.known.iter().find(|(known, _)| known == name) {
            return Ok(Some(*place));
        }
        let plain = plain_name(name);
        let id = resources.fonts.get_ref(&plain).map(ObjectIdentifier::from);
        if id.is_none() && !resources.fonts.contains_key(&plain) {
            return Ok(None);
        }
        let place = self.shelf.find(|| resources.fonts.get::<Dict<'a>>(&plain), id, self.budget)?;
        resources.known.push((name.to_vec(), place));
        Ok(Some(place))
    }

    fn named_form(&self, name: &[u8]) -> Option<Stream<'a>> {
        let form = self.resources.last()?.forms.get::<Stream<'a>>(plain_name(name))?;
        let subtype = form.dict().get::<Name<'_>>("Subtype");
        (subtype.as_deref() == Some(b"Form")).then_some(form)
    }

    fn open_marked(&mut self, arguments: Arguments<'_, '_>) {
        let tag = arguments.name().unwrap_or_default();
        let named = arguments.second_name();
        let properties = self.resources.last().map(|resources| &resources.properties);
        let said = match (named, properties) {
            (Some(name), Some(properties)) => {
                let name = plain_name(name);
                let hidden = tag == b"OC" && self.layers.hide(properties, &name);
                marked::Said { hidden, ..marked::Said::of_dictionary(properties.get(&name)) }
            }
            _ => marked::Said::of_operands(arguments),
        };
        self.marked.open(tag, Some(said), self.drawn);
    }
}

/// What stands before an operator.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'l, 'c> {
    operands: &'l [Operand<'c>],
    strings: &'l [u8],
}

impl<'l, 'c> Arguments<'l, 'c> {
    /// The first numbers.
    fn numbers<const N: usize>(self) -> Option<[f64; N]> {
        let mut numbers = [0.0; N];
        let mut found =
            self.operands.iter().filter_map(|o| if let Operand::Number(n) = o { Some(*n) } else { None });
        for slot in &mut numbers {
            *slot = found.next()?;
        }
        Some(numbers)
    }

    fn matrix(self) -> Option<Matrix> {
        self.numbers().map(Matrix::new)
    }

    /// The last number; zero where there is none.
    fn last(self) -> f64 {
        match self.operands.last() {
            Some(Operand::Number(number)) => *number,
            _ => 0.0,
        }
    }

    fn name(self) -> Option<&'c [u8]> {
        self.operands.iter().find_map(|o| if let Operand::Name(name) = o { Some(*name) } else { None })
    }

    /// A name that is the second operand.
    fn second_name(self) -> Option<&'c [u8]> {
        if let Some(Operand::Name(name)) = self.operands.get(1) { Some(name) } else { None }
    }

    fn string(self, start: usize, end: usize) -> &'l [u8] {
        self.strings.get(start..end).unwrap_or_default()
    }
}

//! Turns a grid into cells: finds equal configurations, and combinations that do not work.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use shingle_core::registry::Registry;
use shingle_result::{Axis, Labels, Place, RunResult, Swept, SweptTrace, TraceInfo};
use shingle_sim::experiment::{
    ExperimentError, Job, Options, Trace, plan, setting_without_effect, takes,
};
use shingle_sim::requests::{RequestList, Requests};

use crate::SweepError;
use crate::grid::Grid;

/// The request for a sweep.
pub struct Order<'a> {
    /// All options that are not varied.
    pub options: &'a Options,
    /// The trace, unless traces are varied.
    pub trace: &'a str,
    /// The axes: `NAME=VALUES,NAME=VALUES`.
    pub vary: &'a [String],
    /// The registered policies.
    pub registry: &'a Registry,
}

/// A trace of a sweep, in memory or in its file.
pub type PlanTrace = Trace<Requests<'static>>;

/// A sweep, ready to start.
pub struct Plan {
    /// Its traces, each with each seed.
    pub traces: Vec<PlanTrace>,
    /// The axes, and the place of each cell.
    pub swept: Swept,
    /// Notes for the user before the runs begin: sentences.
    pub notes: Vec<String>,
    pub(crate) cells: Vec<Cell>,
}

/// A configuration of the grid, over one of the traces.
pub(crate) struct Cell {
    pub(crate) job: Job,
    pub(crate) identity: Identity,
}

/// The identity of a configuration: two cells with the same one have the same result. `sweep.json`
/// contains it, in this order.
#[derive(Serialize)]
pub(crate) struct Identity {
    pub(crate) trace: usize,
    pacing: Cow<'static, str>,
    cache_blocks: u64,
    seed: u64,
    policy: String,
    parameters: BTreeMap<String, String>,
    drive: String,
    drive_parameters: BTreeMap<String, String>,
    /// Name and parameters.
    translation: Option<(String, BTreeMap<String, String>)>,
    ssd: String,
    mode: Cow<'static, str>,
    knows_bands: bool,
}

impl Identity {
    fn new(trace: usize, labels: &Labels) -> Identity {
        let Labels {
            seed,
            policy,
            parameters,
            drive,
            drive_parameters,
            pb_blocks: _, // follows from the drive and what is set on it
            ssd,
            translation,
            translation_parameters,
            cache_blocks,
            mode,
            pacing,
            knows_bands,
        } = labels.clone();
        Identity {
            trace,
            pacing,
            cache_blocks,
            seed,
            policy,
            parameters,
            drive,
            drive_parameters,
            translation: translation.zip(translation_parameters),
            ssd,
            mode,
            knows_bands,
        }
    }
}

impl Plan {
    /// Checks all names, reads the traces by their names and seeds, and checks everything that can
    /// be checked without running.
    ///
    /// # Errors
    /// If a name is wrong, a trace cannot be read, or a value works in no combination.
    pub fn new<E: From<SweepError>>(
        order: &Order,
        read: &mut dyn FnMut(&str, u64) -> Result<PlanTrace, E>,
    ) -> Result<Plan, E> {
        let grid = Grid::new(order.options, order.trace, order.vary, order.registry)?;
        let (traces, numbers) = read_all(&grid, read)?;
        let mut found = Found::new(&grid);
        for cell in grid.cells() {
            let trace = numbers[&(grid.at(&cell, "trace"), grid.at(&cell, "seed"))];
            found.add(&cell, trace, &traces[trace], order);
        }
        found.refuse_what_goes_with_nothing()?;
        let info = |(seed, trace): &(u64, PlanTrace)| SweptTrace {
            seed: *seed,
            info: TraceInfo::with_hash(
                &trace.name,
                trace.format.as_ref(),
                trace.requests.hash(),
                &trace.summary,
            ),
        };
        let infos = traces.iter().map(info).collect();
        found.note_what_changes_nothing(order.options);
        Ok(found.plan(infos, traces.into_iter().map(|(_, trace)| trace).collect()))
    }

    /// Returns the number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns whether there are no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the identity of cell `number`, as in `sweep.json`: every process with the same plan
    /// returns the same text.
    ///
    /// # Panics
    /// If there is no such cell.
    #[must_use]
    pub fn identity(&self, number: usize) -> String {
        serde_json::to_string(&self.cells[number].identity).expect("an identity is JSON")
    }

    /// Returns how many requests cell `number` has to serve.
    ///
    /// # Panics
    /// If there is no such cell.
    #[must_use]
    pub fn requests(&self, number: usize) -> u64 {
        self.list(number).len() as u64
    }

    fn list(&self, number: usize) -> &Requests<'static> {
        &self.traces[self.cells[number].identity.trace].requests
    }

    /// Computes cell `number`, without saving it; `progress` is called with the number of requests
    /// served.
    ///
    /// # Errors
    /// If the run fails.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn run(
        &self,
        number: usize,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, SweepError> {
        Ok(self.cells[number].job.run(self.list(number), progress)?)
    }
}

impl Grid {
    /// Returns the index of `cell`'s value on axis `name`.
    fn at(&self, cell: &[usize], name: &str) -> usize {
        let axis = self.axes.iter().position(|axis| axis.name == name);
        cell[axis.expect("every grid has this axis")]
    }
}

/// Traces with their seeds, and the index of each by its indexes of name and seed in the grid.
type Traces = (Vec<(u64, PlanTrace)>, BTreeMap<(usize, usize), usize>);

/// Reads each trace once, or with each seed if it is synthetic.
fn read_all<E>(
    grid: &Grid,
    read: &mut dyn FnMut(&str, u64) -> Result<PlanTrace, E>,
) -> Result<Traces, E> {
    let (mut traces, mut numbers) = (Vec::new(), BTreeMap::new());
    for (i, name) in grid.values("trace").iter().enumerate() {
        for (j, seed) in grid.values("seed").iter().enumerate() {
            if j == 0 || name.starts_with("synth:") {
                let seed = seed.parse().expect("checked");
                traces.push((seed, read(name, seed)?));
            }
            numbers.insert((i, j), traces.len() - 1);
        }
    }
    Ok((traces, numbers))
}

struct Found<'a> {
    grid: &'a Grid,
    cells: Vec<Cell>,
    /// Their numbers, by identity.
    numbers: BTreeMap<String, usize>,
    /// For each cell and axis, the values that give the same configuration.
    values: Vec<Vec<BTreeSet<usize>>>,
    notes: Vec<String>,
    /// Combinations that do not work: why, in how many cells, and the first of them.
    left_out: Vec<(String, usize, Vec<usize>)>,
    /// For each axis and value, the first reason why a cell of it was left out.
    reasons: BTreeMap<(usize, usize), ExperimentError>,
}

impl<'a> Found<'a> {
    fn new(grid: &'a Grid) -> Found<'a> {
        let (cells, values, notes, left_out) = Default::default();
        let (numbers, reasons) = Default::default();
        Found { grid, cells, numbers, values, notes, left_out, reasons }
    }

    /// Plans one cell, or notes why it cannot run.
    fn add(&mut self, cell: &[usize], number: usize, trace: &(u64, PlanTrace), order: &Order) {
        let (seed, trace) = trace;
        // A file is the same with each seed, and so are its runs.
        let mut options = Options { seed: *seed, ..self.grid.options(cell, order.options) };
        let chosen = options.clone();
        options.sets.retain(|set| takes(set, &chosen, order.registry));
        match plan(&options, order.registry, trace) {
            Ok((mut jobs, notes)) => {
                for note in notes.0 {
                    if !self.notes.contains(&note.text) {
                        self.notes.push(note.text);
                    }
                }
                let job = jobs.pop().expect("a plan has a job");
                assert!(jobs.is_empty(), "a cell is one configuration");
                self.put(cell, job, number);
            }
            Err(why) => {
                for (axis, &at) in cell.iter().enumerate() {
                    self.reasons.entry((axis, at)).or_insert_with(|| why.clone());
                }
                let why = why.to_string();
                match self.left_out.iter_mut().find(|(other, ..)| *other == why) {
                    Some((_, count, _)) => *count += 1,
                    None => self.left_out.push((why, 1, cell.to_vec())),
                }
            }
        }
    }

    fn put(&mut self, cell: &[usize], job: Job, trace: usize) {
        let identity = Identity::new(trace, job.labels());
        let key = serde_json::to_string(&identity).expect("an identity is JSON");
        let at = *self.numbers.entry(key).or_insert_with(|| {
            self.cells.push(Cell { job, identity });
            self.values.push(vec![BTreeSet::new(); cell.len()]);
            self.cells.len() - 1
        });
        for (values, &value) in self.values[at].iter_mut().zip(cell) {
            values.insert(value);
        }
    }

    /// Fails if a named value has no cell left: that is a mistake, not something to pass over.
    fn refuse_what_goes_with_nothing(&self) -> Result<(), SweepError> {
        for (&(axis, value), why) in &self.reasons {
            let was_named = !self.grid.unnamed[axis] || self.cells.is_empty();
            if was_named && !self.values.iter().any(|values| values[axis].contains(&value)) {
                return Err(why.clone().into());
            }
        }
        Ok(())
    }

    /// Adds the same notes as `run` and `compare`.
    fn note_what_changes_nothing(&mut self, options: &Options) {
        let set = options.sets.iter().map(|set| ("--set", set.key()));
        let varied = self.grid.axes.iter().map(|axis| ("--vary", axis.name.clone()));
        for (option, key) in set.chain(varied) {
            let jobs = self.cells.iter().map(|cell| &cell.job);
            self.notes.extend(setting_without_effect(option, &key, jobs));
        }
    }

    fn plan(self, infos: Vec<SweptTrace>, traces: Vec<PlanTrace>) -> Plan {
        let varied = |axis: &&Axis| axis.values.len() > 1;
        let places = self.cells.iter().zip(&self.values).map(|(cell, values)| {
            let axes = self.grid.axes.iter().zip(values).filter(|(axis, _)| varied(axis));
            // An axis matters unless all its values give the same configuration.
            let matter = axes.filter(|(axis, values)| values.len() < axis.values.len());
            let first = |values: &BTreeSet<usize>| *values.first().expect("it stands somewhere");
            let at = matter.map(|(axis, v)| (axis.name.clone(), axis.values[first(v)].clone()));
            Place { trace: cell.identity.trace, at: at.collect() }
        });
        let sentence = |(why, count, cell): &(String, usize, Vec<usize>)| {
            let axes = self.grid.axes.iter().zip(cell).filter(|(axis, _)| varied(axis));
            let at = axes.map(|(axis, &at)| format!("{}={}", axis.name, axis.values[at]));
            let at = at.collect::<Vec<_>>().join(" ");
            let cells = if *count == 1 { "1 cell" } else { &format!("{count} cells, the first") };
            format!("left out: {cells} at {at}: {why}")
        };
        let swept = Swept {
            axes: self.grid.axes.iter().filter(varied).cloned().collect(),
            traces: infos,
            cells: places.collect(),
            left_out: self.left_out.iter().map(sentence).collect(),
        };
        let notes = self.notes.into_iter().chain(swept.left_out.iter().cloned()).collect();
        Plan { traces, swept, notes, cells: self.cells }
    }
}

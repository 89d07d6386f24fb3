//! Sweeps: a plan, which any process can make again and compute cells of, and the folder that keeps them.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shingle::api::{self, Experiment};
use shingle_result::RunResult;
use shingle_sim::experiment::Trace as InnerTrace;
use shingle_sim::requests::Requests;
use shingle_sweep::{Plan as InnerPlan, Shard, Sweep as InnerSweep};

use crate::asked::Call;
use crate::errors::{of_class, raised};
use crate::options::parsed;
use crate::policy::Definition;
use crate::report::Report;
use crate::trace::Trace;

/// A trace by its name, and by its seed unless it is the same with each.
type Held<T> = (String, Option<u64>, T);

/// The cells of a sweep, and the traces that they are over.
#[pyclass(frozen, module = "shingle._native")]
pub(crate) struct Plan {
    plan: Arc<InnerPlan>,
    options: Experiment,
    call: Call,
    /// Name and seed of each trace.
    named: Vec<(String, u64)>,
}

#[pymethods]
impl Plan {
    /// Of JSON options, over traces that are held by name and seed, or else read by their names.
    #[new]
    #[pyo3(signature = (options, held, policies, command, told=None))]
    fn new(
        py: Python<'_>,
        options: &str,
        held: Vec<Held<Bound<'_, Trace>>>,
        policies: Vec<Py<Definition>>,
        command: &str,
        told: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Plan> {
        let options = parsed(py, options)?;
        let held: Vec<Held<Arc<InnerTrace>>> =
            held.into_iter().map(|(name, seed, trace)| (name, seed, trace.get().inner())).collect();
        let call = Call::new(policies, command, told)?;
        let (plan, experiment, named) = call.work(py, |asked| {
            let named = RefCell::new(Vec::new());
            let found = |name: &str, seed: u64| {
                named.borrow_mut().push((name.to_owned(), seed));
                let is = |(held, of, _): &&Held<_>| held == name && of.is_none_or(|of| of == seed);
                held.iter().find(is).map(|(.., trace)| InnerTrace::clone(trace))
            };
            let (plan, experiment) = api::plan(&options, &found, asked)?;
            Ok((plan, experiment, named.into_inner()))
        })?;
        Ok(Plan { plan: Arc::new(plan), options: experiment, call, named })
    }

    fn __len__(&self) -> usize {
        self.plan.len()
    }

    /// What makes the configuration of a cell.
    fn identity(&self, number: usize) -> PyResult<String> {
        self.check(number)?;
        Ok(self.plan.identity(number))
    }

    /// Requests that a cell has to serve.
    fn requests(&self, number: usize) -> PyResult<u64> {
        self.check(number)?;
        Ok(self.plan.requests(number))
    }

    /// Computes a cell: its entry of `runs`, as JSON.
    fn run(&self, py: Python<'_>, number: usize) -> PyResult<String> {
        self.check(number)?;
        let run = self.call.work(py, |asked| {
            let bar = asked.listener.begin("running", self.plan.requests(number));
            Ok(self.plan.run(number, &|done| bar.add(done))?)
        })?;
        Ok(serde_json::to_string(&run).expect("a result is JSON"))
    }

    /// Name, seed and requests of each trace, unless one of them stays in its file.
    fn traces(&self) -> Option<Vec<(String, u64, Trace)>> {
        let named = self.named.iter().cloned().zip(&self.plan.traces);
        let held = named.map(|((name, seed), trace)| {
            let Requests::Held(requests) = &trace.requests else { return None };
            let requests = requests.to_vec();
            let (format, summary) = (trace.format.clone(), trace.summary.clone());
            let trace = InnerTrace { name: trace.name.clone(), format, requests, summary };
            Some((name, seed, Trace::new(trace)))
        });
        held.collect()
    }

    /// The short name of the first trace.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.traces[0].name
    }

    /// What is varied: names and values, outermost first.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let axes = self.plan.swept.axes.iter();
        axes.map(|axis| (axis.name.clone(), axis.values.clone())).collect()
    }

    /// Sentences: how cells are set up, and what does not go together.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.plan.notes.clone()
    }
}

impl Plan {
    fn check(&self, number: usize) -> PyResult<()> {
        if number < self.plan.len() {
            return Ok(());
        }
        let why = format!("there is no cell {number}: the sweep has {}", self.plan.len());
        Err(PyValueError::new_err(why))
    }
}

/// A sweep in its folder, which it has for itself until it is closed.
#[pyclass(frozen, module = "shingle._native")]
pub(crate) struct Sweep {
    plan: Py<Plan>,
    inner: Mutex<Option<InnerSweep>>,
}

#[pymethods]
impl Sweep {
    /// Begins the sweep in `folder`, or goes on with it.
    #[new]
    fn new(
        py: Python<'_>,
        plan: Py<Plan>,
        folder: PathBuf,
        shard: Option<&str>,
        fresh: bool,
    ) -> PyResult<Sweep> {
        let shard = shard.map_or(Ok(Shard::default()), Shard::parse);
        let shard =
            shard.map_err(|error| of_class(py, "UsageError", &format!("--shard {error}")))?;
        let Plan { plan: inner, options, .. } = plan.get();
        let sweep = InnerSweep::open(inner.clone(), options, shard, &folder, fresh)
            .map_err(|error| raised(py, &error.into()))?;
        Ok(Sweep { plan, inner: Mutex::new(Some(sweep)) })
    }

    /// Cells that are done.
    fn done(&self) -> PyResult<usize> {
        self.with(|sweep| Ok(sweep.done()))
    }

    /// Numbers of the cells that are to be done.
    fn pending(&self) -> PyResult<Vec<usize>> {
        self.with(|sweep| Ok(sweep.pending()))
    }

    /// Keeps the result of a cell, as [`Plan::run`] gives it.
    fn keep(&self, py: Python<'_>, number: usize, run: &str) -> PyResult<()> {
        let run: RunResult = serde_json::from_str(run).map_err(|error| {
            of_class(py, "DataError", &format!("cell {number}: no result of a run: {error}"))
        })?;
        self.with(|sweep| sweep.keep(number, run).map_err(|error| raised(py, &error.into())))
    }

    /// Computes what is not done, on `threads` threads (0: one a core).
    #[pyo3(signature = (threads, told=None))]
    fn run(&self, py: Python<'_>, threads: usize, told: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let plan = self.plan.get();
        let call = Call::new(clone(py, &plan.call.policies), "", told)?;
        call.work(py, |asked| {
            let mut held = self.lock();
            let sweep = held.as_mut().ok_or_else(|| anyhow::anyhow!(CLOSED))?;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let bar = asked.listener.begin("sweeping", sweep.requests());
            pool.install(|| sweep.run(&|done| bar.add(done)))?;
            Ok(())
        })
    }

    /// The result, which is also written into the folder; `None` of a share. Closes the folder.
    fn finish(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Option<Report>> {
        let program = self.plan.get().call.program.clone();
        let sweep = self.lock().take().ok_or_else(|| PyValueError::new_err(CLOSED))?;
        let report = py.detach(|| -> anyhow::Result<_> {
            let report = sweep.finish(program)?;
            if let Some(report) = &report {
                api::save(report, &folder.join("results.csv"))?;
            }
            Ok(report)
        });
        let report = report.map_err(|error| raised(py, &error))?;
        Ok(report.map(Report::new))
    }

    /// Lets the folder go.
    fn close(&self) {
        drop(self.lock().take());
    }
}

const CLOSED: &str = "the folder of the sweep is closed";

impl Sweep {
    fn lock(&self) -> MutexGuard<'_, Option<InnerSweep>> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn with<T>(&self, then: impl FnOnce(&mut InnerSweep) -> PyResult<T>) -> PyResult<T> {
        let mut held = self.lock();
        then(held.as_mut().ok_or_else(|| PyValueError::new_err(CLOSED))?)
    }
}

fn clone(py: Python<'_>, policies: &[Py<Definition>]) -> Vec<Py<Definition>> {
    policies.iter().map(|policy| policy.clone_ref(py)).collect()
}

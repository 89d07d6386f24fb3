//! The native part of the Python package `shingle`: what its commands do as functions, and the types that
//! these take and give. The package itself is in `python/shingle`; it documents them for users.
//!
//! Work is done on threads of its own without the interpreter's lock ([`work`]). Results are handed out as JSON
//! and as Arrow tables. A module of your own with more policies takes all of this by [`module`].

mod arrow;
mod asked;
mod errors;
mod options;
mod pictures;
mod policy;
mod report;
mod requests;
mod sweep;
mod trace;
mod work;

use std::sync::OnceLock;

use pyo3::prelude::*;
use shingle_core::registry::Registry;

/// The policies of this module, but for those that are written in Python.
static POLICIES: OnceLock<Registry> = OnceLock::new();

fn policies() -> Registry {
    POLICIES.get_or_init(Registry::default).clone()
}

/// Puts all of the native part of `shingle` into `module`, with the policies of `registry`: a crate of one's
/// own calls this in its `#[pymodule]`, and `shingle.load` takes it into use.
///
/// # Errors
/// If a name cannot be put there.
pub fn module(module: &Bound<'_, PyModule>, registry: Registry) -> PyResult<()> {
    // A second module in this process has a copy of this crate, and so of this, of its own.
    let _ = POLICIES.set(registry);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<report::Report>()?;
    module.add_class::<arrow::Table>()?;
    module.add_class::<sweep::Plan>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_class::<policy::Definition>()?;
    module.add_class::<policy::Slots>()?;
    module.add_class::<policy::Access>()?;
    module.add_function(wrap_pyfunction!(asked::compute, module)?)?;
    module.add_function(wrap_pyfunction!(options::options, module)?)?;
    module.add_function(wrap_pyfunction!(asked::listed, module)?)?;
    module.add_function(wrap_pyfunction!(trace::read, module)?)?;
    module.add_function(wrap_pyfunction!(trace::read_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(trace::read_table, module)?)?;
    module.add_function(wrap_pyfunction!(trace::mix, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::colours, module)?)?;
    Ok(())
}

#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    self::module(module, Registry::default())
}

//! The native part of the package `shingle` with one more policy, for `shingle.load("my_policies")`.

use my_policy::QuietZones;
use pyo3::prelude::*;
use shingle_core::registry::Registry;

#[pymodule]
fn my_policies(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let mut registry = Registry::default();
    registry.add::<QuietZones>();
    shingle_python::module(module, registry)
}

//! A policy that is a class in Python: each method of the seam is a call of the interpreter. For trying ideas; a
//! compiled one is a hundred times as fast.
//!
//! An object of the class cannot be given the slots for longer than a call, so [`Slots`] has them only while a
//! method of a policy runs. An exception ends the run, and is what the caller of it gets.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::{PyIndexError, PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use scoped_tls::scoped_thread_local;
use shingle_core::cache::CacheCore;
use shingle_core::params::{Kind, Param, Params};
use shingle_core::policy::{
    Access as Touch, Admission, Idle, Memory, Policy, Victims, ZONE, Zoning,
};
use shingle_core::registry::{Entry, MakeError, MakeFn, Setup, build_with};
use shingle_core::slots::Slots as All;
use shingle_core::units::{Op, Slot};

scoped_thread_local!(static SLOTS: All);

/// The class of a policy, and what is known of it.
struct Class {
    class: Py<PyAny>,
    /// Which methods it has of its own.
    admit: bool,
    on_hit: bool,
    on_dirty: bool,
    on_clean: bool,
    params: &'static [Param],
    /// What a method raised.
    error: Mutex<Option<PyErr>>,
}

/// A parameter: name, kind, default, one line about it, and words to choose from.
type Declared = (String, String, String, String, Vec<String>);

/// A policy in Python, as calls take it.
#[pyclass(frozen, module = "shingle._native")]
pub(crate) struct Definition {
    class: &'static Class,
    entry: Entry,
}

#[pymethods]
impl Definition {
    /// Kinds of parameters are count, ratio, switch and choice; `methods` are those that the class has of its own.
    #[new]
    fn new(
        class: Py<PyAny>,
        name: String,
        about: String,
        zones: bool,
        params: Vec<Declared>,
        methods: Vec<String>,
    ) -> PyResult<Definition> {
        let mut declared = if zones { vec![ZONE] } else { Vec::new() };
        for (name, kind, default, about, words) in params {
            let kind = match kind.as_str() {
                "count" => Kind::Count,
                "ratio" => Kind::Ratio,
                "switch" => Kind::Switch,
                "choice" => Kind::Choice(leaked(words.into_iter().map(kept).collect())),
                kind => return Err(PyValueError::new_err(format!("there is no kind {kind}"))),
            };
            let (name, default, about) = (kept(name), kept(default), kept(about));
            declared.push(Param { name, kind, default, about });
        }
        let has = |method: &str| methods.iter().any(|own| own == method);
        let (admit, on_hit) = (has("admit"), has("on_hit"));
        let (on_dirty, on_clean) = (has("on_dirty"), has("on_clean"));
        let params: &'static [Param] = leaked(declared);
        // Entries live as long as the program, as those of compiled policies do: one a class.
        let error = Mutex::new(None);
        let class: &'static Class =
            Box::leak(Box::new(Class { class, admit, on_hit, on_dirty, on_clean, params, error }));
        let (name, about) = (kept(name), kept(about));
        let entry = match (zones, has("destage")) {
            (false, false) => entry::<false, false>(class, name, about),
            (false, true) => entry::<false, true>(class, name, about),
            (true, false) => entry::<true, false>(class, name, about),
            (true, true) => entry::<true, true>(class, name, about),
        };
        Ok(Definition { class, entry })
    }
}

impl Definition {
    pub(crate) fn entry(&self) -> Entry {
        self.entry
    }
}

/// What a method of these policies raised, which is taken out.
pub(crate) fn first_error(policies: &[Py<Definition>]) -> Option<PyErr> {
    let errors = policies.iter().filter_map(|policy| held(policy.get().class).take());
    errors.collect::<Vec<_>>().into_iter().next()
}

fn held(class: &Class) -> MutexGuard<'_, Option<PyErr>> {
    class.error.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn leaked<T>(values: Vec<T>) -> &'static [T] {
    Box::leak(values.into_boxed_slice())
}

fn entry<const ZONES: bool, const IDLES: bool>(
    class: &'static Class,
    name: &'static str,
    about: &'static str,
) -> Entry {
    let make = move |params: &Params, setup: &Setup<'_>| -> Result<Box<dyn CacheCore>, MakeError> {
        let new = |params: &Params, slots: &All| Scripted::<ZONES, IDLES>::of(class, params, slots);
        Ok(Box::new(build_with(name, new, params, setup)?))
    };
    let make: &'static MakeFn = Box::leak(Box::new(make));
    Entry::described::<Scripted<ZONES, IDLES>>(name, about, class.params, make)
}

/// A policy under which a cache is: an object of the class.
struct Scripted<const ZONES: bool, const IDLES: bool> {
    class: &'static Class,
    /// None if it could not be made: then there is an error, and no run gets far.
    object: Option<Py<PyAny>>,
}

impl<const ZONES: bool, const IDLES: bool> Scripted<ZONES, IDLES> {
    fn of(class: &'static Class, params: &Params, slots: &All) -> Self {
        let made = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let values = values(py, class.params, params)?;
            SLOTS.set(slots, || class.class.call1(py, (values, Slots)))
        });
        let object = made.map_err(|error| failed(class, error)).ok();
        Scripted { class, object }
    }

    /// Calls a method; an exception ends the run.
    fn call<T>(
        &self,
        slots: &All,
        method: &str,
        args: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        take: impl for<'py> FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> T {
        let done = Python::attach(|py| -> PyResult<T> {
            let object = self.object.as_ref().ok_or_else(|| {
                PyRuntimeError::new_err("the policy could not be made") // (there is an earlier one)
            })?;
            let args = args(py)?;
            SLOTS.set(slots, || take(object.bind(py).call_method1(method, args)?))
        });
        done.unwrap_or_else(|error| {
            failed(self.class, error);
            shingle_sim::cancel()
        })
    }

    /// The slots that `evict` or `destage` names.
    fn named(
        &self,
        slots: &All,
        method: &str,
        args: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) -> Vec<u32> {
        let wanted = "slots are wanted, each a whole number (int) from 0 on";
        self.call(slots, method, args, |named| {
            let each = named.try_iter().map_err(|_| self.wrong(method, wanted, &named))?;
            each.map(|slot| {
                let slot = slot?; // what a generator raised
                slot.extract::<u32>().map_err(|_| self.wrong(method, wanted, &slot))
            })
            .collect()
        })
    }

    /// A method gave something else than is wanted.
    fn wrong(&self, method: &str, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
        let class = self.class.class.bind(given.py()).getattr("__name__");
        let class = class.map_or_else(|_| "policy".into(), |name| name.to_string());
        let given = given.repr().map_or_else(|_| "something else".into(), |text| text.to_string());
        PyTypeError::new_err(format!("{class}.{method}: {wanted}, and not {given}"))
    }

    fn tell(&self, slots: &All, method: &str, slot: Slot) {
        self.call(slots, method, |py| PyTuple::new(py, [slot.0]), |_| Ok(()));
    }

    fn tell_access(&self, slots: &All, method: &str, slot: Slot, access: &Touch) {
        let access = Access(*access);
        self.call(slots, method, |py| (slot.0, access).into_pyobject(py), |_| Ok(()));
    }
}

/// Remembers the first exception.
fn failed(class: &Class, error: PyErr) {
    held(class).get_or_insert(error);
}

/// Parameters as Python has them: whole numbers, floats, truths and words; a size of zones in blocks, or `None`
/// for the bands of the drive.
fn values<'py>(
    py: Python<'py>,
    declared: &[Param],
    params: &Params,
) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for Param { name, kind, .. } in declared {
        match kind {
            Kind::Count => values.set_item(name, params.count(name))?,
            Kind::Blocks => values.set_item(name, params.blocks(name))?,
            Kind::Zones => values.set_item(name, params.zones(name))?,
            #[expect(clippy::cast_precision_loss, reason = "thousandths are far below 2^53")]
            Kind::Ratio => values.set_item(name, params.thousandths(name) as f64 / 1000.0)?,
            Kind::Switch => values.set_item(name, params.switch(name))?,
            Kind::Choice(_) => values.set_item(name, params.choice(name))?,
            Kind::Limit => values.set_item(name, params.limit(name))?,
            Kind::Micros | Kind::Hours => unreachable!("a class has no way to declare them"),
        }
    }
    Ok(values)
}

impl<const ZONES: bool, const IDLES: bool> Clone for Scripted<ZONES, IDLES> {
    fn clone(&self) -> Self {
        let copied = Python::attach(|py| -> PyResult<Option<Py<PyAny>>> {
            let Some(object) = &self.object else { return Ok(None) };
            let copy = py.import("copy")?.getattr("deepcopy")?;
            Ok(Some(copy.call1((object,))?.unbind()))
        });
        let object = copied.unwrap_or_else(|error| {
            failed(self.class, error);
            None
        });
        Scripted { class: self.class, object }
    }
}

impl<const ZONES: bool, const IDLES: bool> Policy for Scripted<ZONES, IDLES> {
    const NAME: &'static str = "python";
    const ABOUT: &'static str = "a class in Python";
    const ZONING: Zoning = if ZONES { Zoning::Fixed } else { Zoning::None };
    const IDLE: Idle = if IDLES { Idle::Names } else { Idle::Never("it has no method destage") };

    /// (Made by `of`, which knows the class.)
    fn new(_: &Params, _: &All) -> Self {
        unreachable!("an entry of a class makes its caches itself")
    }

    fn admit(&mut self, access: &Touch, slots: &All) -> Admission {
        if !self.class.admit {
            return Admission::Fill;
        }
        let access = Access(*access);
        // (None is what a method gives that has no `return`.)
        let fills = self.call(
            slots,
            "admit",
            |py| (access,).into_pyobject(py),
            |said| {
                if said.is_none() {
                    Err(self.wrong("admit", "True or False is wanted", &said))
                } else {
                    said.is_truthy()
                }
            },
        );
        if fills { Admission::Fill } else { Admission::Bypass }
    }

    fn on_hit(&mut self, slot: Slot, access: &Touch, slots: &All) {
        if self.class.on_hit {
            self.tell_access(slots, "on_hit", slot, access);
        }
    }

    fn on_insert(&mut self, slot: Slot, access: &Touch, slots: &All) {
        self.tell_access(slots, "on_insert", slot, access);
    }

    fn on_remove(&mut self, slot: Slot, slots: &All) {
        self.tell(slots, "on_remove", slot);
    }

    fn on_dirty(&mut self, slot: Slot, slots: &All) {
        if self.class.on_dirty {
            self.tell(slots, "on_dirty", slot);
        }
    }

    fn on_clean(&mut self, slot: Slot, slots: &All) {
        if self.class.on_clean {
            self.tell(slots, "on_clean", slot);
        }
    }

    fn evict(&mut self, incoming: Option<&Touch>, want: u32, out: &mut Victims) {
        let incoming = incoming.map(|access| Access(*access));
        let named = self.named(out.slots(), "evict", |py| (want, incoming).into_pyobject(py));
        named.into_iter().for_each(|slot| out.push(Slot(slot)));
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        if IDLES {
            let named = self.named(out.slots(), "destage", |py| PyTuple::new(py, [want]));
            named.into_iter().for_each(|slot| out.push(Slot(slot)));
        }
    }

    /// (What objects of Python take is not known.)
    fn memory(&self) -> Memory {
        Memory::default()
    }
}

/// The slots of the cache, while a method of a policy runs.
#[pyclass(frozen, module = "shingle._native")]
pub(crate) struct Slots;

impl Slots {
    fn with<T>(then: impl FnOnce(&All) -> PyResult<T>) -> PyResult<T> {
        if !SLOTS.is_set() {
            return Err(PyRuntimeError::new_err(
                "slots can be asked only while a method of a policy runs",
            ));
        }
        SLOTS.with(then)
    }

    /// Of a slot that there is.
    fn of<T>(slot: u32, then: impl FnOnce(&All, Slot) -> PyResult<T>) -> PyResult<T> {
        Slots::with(|slots| {
            if slot >= slots.capacity() {
                let why = format!("there is no slot {slot}: the cache has {}", slots.capacity());
                return Err(PyIndexError::new_err(why));
            }
            then(slots, Slot(slot))
        })
    }

    /// Of a slot that holds a block.
    fn of_block<T>(slot: u32, then: impl FnOnce(&All, Slot) -> T) -> PyResult<T> {
        Slots::of(slot, |slots, slot| {
            if slots.find(slots.block(slot)) != Some(slot) {
                return Err(PyKeyError::new_err(format!("slot {} holds no block", slot.0)));
            }
            Ok(then(slots, slot))
        })
    }
}

#[pymethods]
impl Slots {
    /// Slots in the cache.
    #[getter]
    fn capacity(&self) -> PyResult<u32> {
        Slots::with(|slots| Ok(slots.capacity()))
    }

    /// Dirty blocks, those on their way to the disk included.
    #[getter]
    fn dirty_blocks(&self) -> PyResult<u32> {
        Slots::with(|slots| Ok(slots.dirty_blocks()))
    }

    /// Clean blocks.
    #[getter]
    fn clean_blocks(&self) -> PyResult<u32> {
        Slots::with(|slots| Ok(slots.clean_blocks()))
    }

    /// The block in a slot: its number on the disk, of blocks of 4 KiB.
    fn block(&self, slot: u32) -> PyResult<u64> {
        Slots::of_block(slot, |slots, slot| slots.block(slot).0)
    }

    /// The zone of the block in a slot; 0 if the policy works without zones.
    fn zone(&self, slot: u32) -> PyResult<u32> {
        Slots::of_block(slot, |slots, slot| match &slots.drive().zones {
            Some(_) => slots.zone(slot).0,
            None => 0,
        })
    }

    /// Whether a slot holds data that the disk does not have yet.
    fn dirty(&self, slot: u32) -> PyResult<bool> {
        Slots::of(slot, |slots, slot| Ok(slots.dirty(slot)))
    }

    /// Whether a slot may be named: it holds a block, and no I/O is under way on it.
    fn evictable(&self, slot: u32) -> PyResult<bool> {
        Slots::of(slot, |slots, slot| Ok(slots.evictable(slot)))
    }

    /// The slot that holds a block, or `None`.
    fn find(&self, block: u64) -> PyResult<Option<u32>> {
        Slots::with(|slots| Ok(slots.find(shingle_core::units::Block(block)).map(|slot| slot.0)))
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// One block of a request, on its way through the cache.
#[pyclass(frozen, module = "shingle._native")]
#[derive(Clone, Copy)]
pub(crate) struct Access(Touch);

#[pymethods]
impl Access {
    /// The block: its number on the disk, of blocks of 4 KiB.
    #[getter]
    fn block(&self) -> u64 {
        self.0.block.0
    }

    /// Whether it is written, not read.
    #[getter]
    fn is_write(&self) -> bool {
        self.0.op == Op::Write
    }

    /// Whether the request covers the block only in part.
    #[getter]
    fn partial(&self) -> bool {
        self.0.partial
    }

    /// Whether the block was cached and dirty before.
    #[getter]
    fn was_dirty(&self) -> bool {
        self.0.was_dirty
    }

    /// Number of the request, from 0.
    #[getter]
    fn number(&self) -> u64 {
        self.0.number
    }

    /// Place of the block within its request, from 0.
    #[getter]
    fn place(&self) -> u32 {
        self.0.place
    }

    /// Arrival of the request, in nanoseconds since the first.
    #[getter]
    fn at_ns(&self) -> u64 {
        self.0.request.at.0
    }

    /// First byte of the request.
    #[getter]
    fn offset_bytes(&self) -> u64 {
        self.0.request.offset
    }

    /// Length of the request.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.request.bytes
    }
}

//! A policy from outside that breaks its contract ends its run with one line, which names it, what it did and
//! when.

use shingle_core::params::Params;
use shingle_core::parts::{Links, List};
use shingle_core::policy::{Access, Memory, Policy, Victims};
use shingle_core::registry::{Entry, Registry, build_with};
use shingle_core::slots::Slots;
use shingle_core::units::Slot;
use shingle_sim::experiment::{ExperimentError, Options, Trace, plan, run_all};
use shingle_sim::run::RunError;
use shingle_trace::{OpenOptions, Shape, Summary};

const NAMES_TWICE: u8 = 0;
const FORGETS_TWICE: u8 = 1;
const FORGETS_NOBODY: u8 = 2;

/// First in, first out, but for what it does wrong.
#[derive(Clone)]
struct Wrong<const WHAT: u8> {
    links: Links,
    fifo: List,
}

impl<const WHAT: u8> Policy for Wrong<WHAT> {
    const NAME: &'static str = ["names-twice", "forgets-twice", "forgets-nobody"][WHAT as usize];
    const ABOUT: &'static str = "is wrong";

    fn new(_: &Params, slots: &Slots) -> Self {
        Wrong { links: Links::new(slots.capacity() as usize), fifo: List::default() }
    }

    fn on_hit(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.fifo.push_head(&mut self.links, slot.0);
    }

    fn on_remove(&mut self, slot: Slot, _: &Slots) {
        self.fifo.unlink(&mut self.links, slot.0);
    }

    fn evict(&mut self, _: Option<&Access>, _: u32, out: &mut Victims) {
        let Some(slot) = out.slots().coldest(&self.fifo, &self.links) else { return };
        if WHAT != FORGETS_NOBODY {
            self.fifo.unlink(&mut self.links, slot.0);
        }
        out.push(slot);
        match WHAT {
            NAMES_TWICE => out.push(slot),
            FORGETS_TWICE => self.fifo.unlink(&mut self.links, slot.0),
            _ => {}
        }
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }
}

fn trace() -> Trace {
    let spec = "synth:uniform?requests=200&range=100MB&write=1";
    let mut opened = shingle_trace::open(spec, &OpenOptions::default()).unwrap();
    let requests = Shape::default().read(opened.source.as_mut(), &mut |_| ()).unwrap();
    Trace { name: opened.name, format: None, summary: Summary::of(&requests), requests }
}

#[test]
fn a_wrong_policy_ends_its_run_with_one_line() {
    let (mut registry, trace) = (Registry::default(), trace());
    registry.add::<Wrong<NAMES_TWICE>>();
    registry.add::<Wrong<FORGETS_TWICE>>();
    registry.add::<Wrong<FORGETS_NOBODY>>();
    for (policy, rule) in [
        ("names-twice", "policy `names-twice` broke the contract of Policy::evict: it named slot "),
        ("forgets-twice", "List::unlink of member "),
        ("forgets-nobody", "List::push of member "),
    ] {
        let options = Options {
            policies: vec![policy.to_owned()],
            caches: vec!["20b".to_owned()],
            ..Options::default()
        };
        let (jobs, _) = plan(&options, &registry, &trace).unwrap();
        let told = run_all(&jobs, &trace, &|_| ()).unwrap_err().to_string();
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(
            told.starts_with(&format!("the run of policy `{policy}` ended at request ")),
            "{told}"
        );
        assert!(told.contains(rule) && told.contains(".rs:"), "{told}");
    }
}

#[test]
fn the_progress_callback_may_end_a_run() {
    let options =
        Options { policies: vec!["lru".into()], caches: vec!["20b".into()], ..Options::default() };
    let (jobs, _) = plan(&options, &Registry::default(), &trace()).unwrap();
    let ended = run_all(&jobs, &trace(), &|_| shingle_sim::cancel());
    assert_eq!(ended.unwrap_err(), ExperimentError::Run(RunError::Cancelled));
}

#[test]
fn a_policy_may_be_described_while_the_program_runs() {
    let mut registry = Registry::default();
    let known = registry.entries().len();
    registry.insert(Entry::described::<Wrong<NAMES_TWICE>>(
        "mine",
        "of two lines",
        &[],
        &|params, setup| {
            Ok(Box::new(build_with("mine", Wrong::<NAMES_TWICE>::new, params, setup)?))
        },
    ));
    let entry = *registry.get("mine").unwrap();
    assert_eq!((entry.name, entry.about, entry.params.len()), ("mine", "of two lines", 0));
    registry.insert(entry);
    assert_eq!(registry.entries().len(), known + 1, "it replaces the one of its name");
    let options =
        Options { policies: vec!["mine".into()], caches: vec!["20b".into()], ..Options::default() };
    let (jobs, _) = plan(&options, &registry, &trace()).unwrap();
    let told = run_all(&jobs, &trace(), &|_| ()).unwrap_err().to_string();
    assert!(told.starts_with("the run of policy `mine` ended"), "{told}");
    assert!(told.contains(": policy `mine` broke the contract of Policy::evict: "), "{told}");
}

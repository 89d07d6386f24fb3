//! A policy of somebody's own that is wrong ends its run with one line, which names it, what it did and
//! when.

use shingle_core::params::Params;
use shingle_core::parts::{Links, List};
use shingle_core::policy::{Access, Memory, Policy, Victims};
use shingle_core::registry::Registry;
use shingle_core::slots::Slots;
use shingle_core::units::Slot;
use shingle_sim::experiment::{Options, Trace, plan, run_all};
use shingle_trace::{OpenOptions, Shape, Summary};

/// First in, first out, but for what it does wrong.
#[derive(Clone)]
struct Wrong<const TWICE: bool> {
    links: Links,
    fifo: List,
}

impl<const TWICE: bool> Policy for Wrong<TWICE> {
    const NAME: &'static str = if TWICE { "names-twice" } else { "forgets-twice" };
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
        self.fifo.unlink(&mut self.links, slot.0);
        out.push(slot);
        if TWICE {
            out.push(slot);
        } else {
            self.fifo.unlink(&mut self.links, slot.0);
        }
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }
}

#[test]
fn a_wrong_policy_ends_its_run_with_one_line() {
    let (mut registry, spec) =
        (Registry::default(), "synth:uniform?requests=200&range=100MB&write=1");
    registry.add::<Wrong<true>>();
    registry.add::<Wrong<false>>();
    let mut opened = shingle_trace::open(spec, &OpenOptions::default()).unwrap();
    let requests = Shape::default().read(opened.source.as_mut(), &mut |_| ()).unwrap();
    let trace =
        Trace { name: opened.name, format: None, summary: Summary::of(&requests), requests };
    for (policy, rule) in [
        ("names-twice", "policy `names-twice` broke the contract of Policy::evict: it named slot "),
        ("forgets-twice", "List::unlink of member "),
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

//! The table of orders: one line each. Each is a policy of its own (`-p NAME`), and a base for the
//! policies that restrict or combine orders (`--set pore.base=NAME`).

use crate::order::{Order, Plain};
use crate::params::{Kind, Param, Params};
use crate::policy::{Access, Memory};
use crate::registry::Entry;
use crate::slots::Slots;
use crate::units::Slot;

#[cfg(test)]
mod by_hand;

/// Declares each order's module, its entry, and its place in [`AnyOrder`]: `file => type`.
macro_rules! orders {
    ($($file:ident => $order:ident,)*) => {
        $(pub mod $file;)*

        /// The orders as policies.
        pub const ALL: &[Entry] = &[$(Entry::of::<Plain<$file::$order>>()),*];

        /// Their names.
        pub const NAMES: &[&str] = &[$($file::$order::NAME),*];

        /// An order chosen by name, with the parameters it has by default.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyOrder {
            $($order($file::$order),)*
        }

        impl AnyOrder {
            /// An empty order called `name`, with the parameters it has by default.
            ///
            /// # Panics
            /// If `name` is not one of [`NAMES`].
            #[must_use]
            pub fn named(name: &str, slots: &Slots) -> AnyOrder {
                $(if name == $file::$order::NAME {
                    let params = Params::new($file::$order::PARAMS);
                    return AnyOrder::$order($file::$order::new(&params, slots));
                })*
                unreachable!("{name} is one of NAMES by the kind of its parameter")
            }
        }

        /// The slots of the order that was chosen; the others have none.
        #[allow(unreachable_patterns)] // with a single order
        fn coldest_of(any: &AnyOrder) -> impl Iterator<Item = Slot> + '_ {
            core::iter::empty()$(.chain(
                match any {
                    AnyOrder::$order(order) => Some(order.coldest()),
                    _ => None,
                }
                .into_iter()
                .flatten(),
            ))*
        }

        /// Every method asks the order that was chosen.
        macro_rules! chosen {
            ($any:expr, $inner:ident => $call:expr) => {
                match $any { $(AnyOrder::$order($inner) => $call,)* }
            };
        }
    };
}

orders! {
    lru => Lru,
    fifo => Fifo,
    clock => Clock,
    sieve => Sieve,
    two_q => TwoQ,
    arc => Arc,
    lirs => Lirs,
    s3_fifo => S3Fifo,
    w_tinylfu => WTinyLfu,
    belady => Belady,
}

/// The parameter by which a policy over [`AnyOrder`] is told its base.
pub const BASE: Param = Param {
    name: "base",
    kind: Kind::Choice(NAMES),
    default: "lru",
    about: "the order underneath: any policy that only orders",
};

/// The parameter [`BASE`] says which order it is.
impl Order for AnyOrder {
    const NAME: &'static str = "any";
    const ABOUT: &'static str = "the order that the parameter `base` names";

    fn new(params: &Params, slots: &Slots) -> Self {
        AnyOrder::named(params.choice(BASE.name), slots)
    }

    #[inline]
    fn miss(&mut self, access: &Access, slots: &Slots) {
        chosen!(self, order => order.miss(access, slots));
    }

    #[inline]
    fn insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        chosen!(self, order => order.insert(slot, access, slots));
    }

    #[inline]
    fn touch(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        chosen!(self, order => order.touch(slot, access, slots));
    }

    #[inline]
    fn remove(&mut self, slot: Slot, slots: &Slots) {
        chosen!(self, order => order.remove(slot, slots));
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        chosen!(self, order => order.pop(slots))
    }

    #[inline]
    fn pop_another(&mut self, slots: &Slots) -> Option<Slot> {
        chosen!(self, order => order.pop_another(slots))
    }

    #[inline]
    fn restore(&mut self, slot: Slot, slots: &Slots) {
        chosen!(self, order => order.restore(slot, slots));
    }

    #[inline]
    fn left(&mut self, slot: Slot, slots: &Slots) {
        chosen!(self, order => order.left(slot, slots));
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        coldest_of(self)
    }

    #[inline]
    fn expect(&self, slot: Slot) {
        chosen!(self, order => order.expect(slot));
    }

    fn wants_future(&self) -> bool {
        chosen!(self, order => order.wants_future())
    }

    fn memory(&self) -> Memory {
        chosen!(self, order => order.memory())
    }

    fn check(&self, slots: &Slots) {
        chosen!(self, order => order.check(slots));
    }
}

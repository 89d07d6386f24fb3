//! An order chosen by name when a run is made, for policies that restrict or combine orders.

/// Declares for each order its module, its registry entry and its variant of `AnyOrder`: `file =>
/// type`. The table that uses it is in [`crate::policies`].
macro_rules! orders {
    ($($file:ident => $order:ident,)*) => {
        $(pub mod $file;)*

        /// The policies that only order blocks.
        pub const ORDERS: &[Entry] = &[$(Entry::of::<Plain<$file::$order>>()),*];

        /// The names of the orders.
        pub const ORDER_NAMES: &[&str] = &[$($file::$order::NAME),*];

        /// An order chosen by name, with default parameters.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyOrder {
            $($order($file::$order),)*
        }

        impl AnyOrder {
            /// Creates the empty order called `name`, with default parameters.
            ///
            /// # Panics
            /// If `name` is not one of [`ORDER_NAMES`].
            #[must_use]
            pub fn named(name: &str, slots: &Slots) -> AnyOrder {
                $(if name == $file::$order::NAME {
                    let params = Params::new($file::$order::PARAMS);
                    return AnyOrder::$order($file::$order::new(&params, slots));
                })*
                unreachable!("{name} is one of ORDER_NAMES by the kind of its parameter")
            }
        }

        /// Every method calls the order that the parameter [`BASE`] chose.
        impl Order for AnyOrder {
            const NAME: &'static str = "any";
            const ABOUT: &'static str = "the order that the parameter `base` names";

            fn new(params: &Params, slots: &Slots) -> Self {
                AnyOrder::named(params.choice(BASE.name), slots)
            }

            #[inline]
            fn miss(&mut self, access: &Access, slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.miss(access, slots),)* }
            }

            #[inline]
            fn insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.insert(slot, access, slots),)* }
            }

            #[inline]
            fn touch(&mut self, slot: Slot, access: &Access, slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.touch(slot, access, slots),)* }
            }

            #[inline]
            fn remove(&mut self, slot: Slot, slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.remove(slot, slots),)* }
            }

            #[inline]
            fn pop(&mut self, slots: &Slots) -> Option<Slot> {
                match self { $(AnyOrder::$order(order) => order.pop(slots),)* }
            }

            #[inline]
            fn pop_another(&mut self, slots: &Slots) -> Option<Slot> {
                match self { $(AnyOrder::$order(order) => order.pop_another(slots),)* }
            }

            #[inline]
            fn restore(&mut self, slot: Slot, slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.restore(slot, slots),)* }
            }

            #[inline]
            fn left(&mut self, slot: Slot, slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.left(slot, slots),)* }
            }

            fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
                // Each order has its own iterator type: those that were not chosen are empty.
                core::iter::empty()$(.chain(
                    match self {
                        #[allow(unreachable_patterns)] // with a single order
                        AnyOrder::$order(order) => Some(order.coldest()),
                        _ => None,
                    }
                    .into_iter()
                    .flatten(),
                ))*
            }

            #[inline]
            fn prefetch(&self, slot: Slot) {
                match self { $(AnyOrder::$order(order) => order.prefetch(slot),)* }
            }

            #[inline]
            fn prefetch_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.prefetch_blocks(next, soon, slots),)* }
            }

            fn wants_future(&self) -> bool {
                match self { $(AnyOrder::$order(order) => order.wants_future(),)* }
            }

            fn memory(&self) -> Memory {
                match self { $(AnyOrder::$order(order) => order.memory(),)* }
            }

            fn check(&self, slots: &Slots) {
                match self { $(AnyOrder::$order(order) => order.check(slots),)* }
            }
        }
    };
}

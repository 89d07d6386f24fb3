//! Why what is published does not come out.

macro_rules! empty { ($($name:ident)*) => { $(pub(super) const $name: &str = "";)* }; }
empty! { CHUNKS_ARE FIRST_WRITES HITS LATENCY PADDING PERIODS REALLOCATED RMWS SHAPED SHARES VICTIMS WA_REASON OTHERWISE STAYS }

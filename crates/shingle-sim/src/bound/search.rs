//! Maximum of a concave function of a price. An evaluation takes longer at a lower price, so the
//! search starts from above.

/// Most halvings, and most steps after them.
const STEPS: u32 = 60;
/// Accuracy, as a difference of logarithms: a function is flat at its maximum.
const CLOSE: f64 = 0.1;

/// Value of the function at a price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct At {
    pub(super) price: f64,
    pub(super) value: f64,
    /// Upper limit of the function at all lower prices.
    pub(super) ceiling: f64,
}

/// Returns the maximum of `of` below `start`, if it is above `floor`.
pub(super) fn peak(start: f64, floor: f64, of: impl Fn(f64) -> At) -> Option<At> {
    let mut best = of(start);
    for _ in 0..STEPS {
        if best.ceiling <= floor {
            return None;
        }
        let next = of(best.price / 2.0);
        if next.value < best.value {
            break;
        }
        best = next;
    }
    let (mut low, mut high) = (libm::log(best.price / 2.0), libm::log(best.price * 2.0));
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_a, mut at_b) = (of(libm::exp(a)), of(libm::exp(b)));
    while high - low > CLOSE {
        if at_a.value > at_b.value {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = of(libm::exp(a));
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = of(libm::exp(b));
        }
    }
    let found = [at_a, at_b, best].into_iter().max_by(|a, b| a.value.total_cmp(&b.value))?;
    // More than a rounding error above.
    (found.value > floor * (1.0 + 1e-9)).then_some(found)
}

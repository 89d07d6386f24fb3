//! Ratios, where there is something to divide by.

/// `part` ÷ `whole`; `None` if `whole` is 0.
#[allow(clippy::cast_precision_loss)] // figures of a result, not of a decision
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

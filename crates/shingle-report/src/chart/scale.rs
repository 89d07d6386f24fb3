//! Axes: the positions of values, and the ticks with their labels.

/// The least quotient of greatest and least value for which an axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 60.0;

/// The quotient below which powers of ten alone would be too few ticks.
const FEW_DECADES: f64 = 50.0;

/// An axis, linear from zero or logarithmic.
pub(super) struct Scale {
    low: f64,
    pub(super) high: f64,
    logarithmic: bool,
}

impl Scale {
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite()) {
            high = high.max(value);
            if value > 0.0 {
                low = low.min(value);
            }
        }
        if high / low < LOGARITHMIC_FROM || !low.is_finite() {
            return Scale::linear(high);
        }
        let whole = |power: f64| libm::exp10(power);
        Scale { low: whole(libm::log10(low).floor()), high: high * 1.3, logarithmic: true }
    }

    /// Creates a logarithmic axis if there are positive values.
    pub(super) fn decades(values: impl Iterator<Item = f64>) -> Scale {
        let values: Vec<f64> = values.filter(|v| v.is_finite() && *v > 0.0).collect();
        match values.iter().copied().reduce(f64::min) {
            None => Scale::linear(0.0),
            Some(low) => Scale {
                low,
                high: values.iter().copied().fold(low * 1.01, f64::max),
                logarithmic: true,
            },
        }
    }

    /// Creates a linear axis that ends at `high`.
    pub(super) fn to(high: f64) -> Scale {
        Scale { low: 0.0, high: if high > 0.0 { high } else { 1.0 }, logarithmic: false }
    }

    pub(super) fn linear(high: f64) -> Scale {
        Scale { low: 0.0, high: if high > 0.0 { high * 1.08 } else { 1.0 }, logarithmic: false }
    }

    /// Returns the position of `value`, between [`Scale::bottom`] and [`Scale::top`].
    pub(super) fn position(&self, value: f64) -> f64 {
        if self.logarithmic { libm::log10(value.max(self.low)) } else { value }
    }

    pub(super) fn bottom(&self) -> f64 {
        self.position(self.low)
    }

    pub(super) fn top(&self) -> f64 {
        self.position(self.high)
    }

    /// Returns the label of a tick, with as few digits as distinguish it from its neighbours.
    pub(super) fn label(&self, tick: f64) -> String {
        let step = if self.logarithmic { tick } else { self.step() };
        match step {
            step if step >= 1.0 => crate::numbers::grouped(tick),
            step => format!("{tick:.*}", (-libm::log10(step).floor()).max(0.0) as usize),
        }
    }

    /// Returns the distance of ticks: 1, 2 or 5 times a power of ten, for about five ticks.
    fn step(&self) -> f64 {
        let rough = self.high / 5.0;
        let power = libm::exp10(libm::log10(rough).floor());
        let step = [1.0, 2.0, 5.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
        step.unwrap_or(power * 10.0)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let between: &[f64] = match self.high / self.low {
                quotient if quotient < 8.0 => &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
                quotient if quotient < FEW_DECADES => &[1.0, 2.0, 5.0],
                _ => &[],
            };
            if !between.is_empty() {
                let powers = self.bottom().floor() as i32..=self.top() as i32;
                let ticks = powers
                    .flat_map(|power| between.iter().map(move |s| s * libm::exp10(power.into())));
                return ticks.filter(|tick| (self.low..=self.high).contains(tick)).collect();
            }
            let powers = self.bottom().ceil() as i32..=self.top().floor() as i32;
            return powers.map(|power| libm::exp10(power.into())).collect();
        }
        let step = self.step();
        (0..=(self.high / step) as usize).map(|at| at as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_start_at_zero_or_at_a_power_of_ten() {
        let linear = Scale::of([1.0, 9.3].into_iter());
        assert!(!linear.logarithmic);
        assert_eq!(linear.ticks(), [0.0, 5.0, 10.0]);
        assert_eq!(
            linear.ticks().iter().map(|&tick| linear.label(tick)).collect::<Vec<_>>(),
            ["0", "5", "10"]
        );
        let narrow = Scale::decades([12.0, 0.0, 48.0].into_iter());
        assert_eq!(narrow.ticks(), [20.0, 30.0, 40.0]);
        assert_eq!(
            Scale::decades([90.0, 4000.0].into_iter()).ticks(),
            [100.0, 200.0, 500.0, 1000.0, 2000.0]
        );
        let wide = Scale::of([0.02, 700.0].into_iter());
        assert!(wide.logarithmic);
        assert_eq!(wide.ticks().len(), 5);
        assert_eq!(wide.position(0.0), wide.bottom(), "zero is at the foot of it");
        assert_eq!(Scale::of([].into_iter()).high, 1.0);
    }
}

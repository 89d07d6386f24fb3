//! Scores by which SAC chooses target zones: by released space (§4.3), or one of the two ways that
//! the paper compares (§6.4).

/// Scores zones: those of the highest score are chosen as targets.
pub trait Target: Clone + Send + 'static {
    /// Name of the policy.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;

    /// Returns the score of a zone with `dirty` blocks, at least one, `cold` of them cold.
    fn score(cold: u32, dirty: u32) -> u32;
    /// Returns the highest possible score if a zone has at most `dirty_max` dirty blocks.
    fn score_max(dirty_max: u32) -> u32;
}

/// Actually released space: cold blocks (Equation 1).
#[derive(Clone, Debug)]
pub struct Ars;

impl Target for Ars {
    const NAME: &'static str = "sac";
    const ABOUT: &'static str =
        "cycles over the zones that release most, clean against dirty (SAC §4)";

    #[inline]
    fn score(cold: u32, _: u32) -> u32 {
        cold
    }

    fn score_max(dirty_max: u32) -> u32 {
        dirty_max
    }
}

/// P-decided: the share of cold blocks, in thousandths.
#[derive(Clone, Debug)]
pub struct Pd;

impl Target for Pd {
    const NAME: &'static str = "sac-pd";
    const ABOUT: &'static str = "SAC over the zones of the lowest popularity (SAC §6.4, PD)";

    #[inline]
    fn score(cold: u32, dirty: u32) -> u32 {
        (u64::from(cold) * 1000 / u64::from(dirty)) as u32
    }

    fn score_max(_: u32) -> u32 {
        1000
    }
}

/// A-decided: dirty blocks.
#[derive(Clone, Debug)]
pub struct Ad;

impl Target for Ad {
    const NAME: &'static str = "sac-ad";
    const ABOUT: &'static str = "SAC over the zones with the most dirty blocks (SAC §6.4, AD)";

    #[inline]
    fn score(_: u32, dirty: u32) -> u32 {
        dirty
    }

    fn score_max(dirty_max: u32) -> u32 {
        dirty_max
    }
}

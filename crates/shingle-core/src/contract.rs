//! Violations of the contract of [`Policy`](crate::policy::Policy). They end the program, in
//! release builds too, with a sentence that names the policy, the method and the rule. Continuing
//! would lose data, or wait for room that is never made.

use core::fmt::Display;

/// Ends the program: `policy` broke the contract of its method `method`, as `what` says.
#[cold]
#[inline(never)]
pub(crate) fn broken(policy: &str, method: &str, what: impl Display) -> ! {
    panic!("policy `{policy}` broke the contract of Policy::{method}: {what}")
}

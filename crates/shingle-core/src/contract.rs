//! What a cache does with a policy that breaks the contract of [`Policy`](crate::policy::Policy): it
//! ends the program, in release builds too, with a sentence that names the policy, the method and the
//! rule. To go on would lose data, or wait for room that nobody makes.

use core::fmt::Display;

/// Ends the program: `policy` broke the contract of its method `method` by `what` it did.
#[cold]
#[inline(never)]
pub(crate) fn broken(policy: &str, method: &str, what: impl Display) -> ! {
    panic!("policy `{policy}` broke the contract of Policy::{method}: {what}")
}

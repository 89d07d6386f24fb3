//! The exports of a server, which may change while it runs. A client chooses among those that exist
//! when its handshake begins.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::handshake::ExportInfo;
use crate::served::Served;

/// An export, and whether it is still offered.
pub(crate) struct Offer {
    pub(crate) served: Served,
    withdrawn: AtomicBool,
}

impl Offer {
    /// Set before the server looks for the connections that use it.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::SeqCst)
    }
}

/// All exports at one moment.
pub(crate) type Offers = Arc<Vec<Arc<Offer>>>;

/// The list of a server.
#[derive(Default)]
pub(crate) struct List(RwLock<Offers>);

impl List {
    pub(crate) fn now(&self) -> Offers {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds an export. False if there is one with this name.
    pub(crate) fn add(&self, served: Served) -> bool {
        let mut list = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if list.iter().any(|offer| offer.served.name == served.name) {
            return false;
        }
        let offer = Arc::new(Offer { served, withdrawn: AtomicBool::new(false) });
        *list = list.iter().cloned().chain([offer]).collect::<Vec<_>>().into();
        true
    }

    /// Removes an export.
    pub(crate) fn withdraw(&self, name: &str) -> Option<Arc<Offer>> {
        let mut list = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let found = list.iter().find(|offer| offer.served.name == name).cloned()?;
        found.withdrawn.store(true, Ordering::SeqCst);
        *list = list
            .iter()
            .filter(|offer| !Arc::ptr_eq(offer, &found))
            .cloned()
            .collect::<Vec<_>>()
            .into();
        Some(found)
    }
}

/// The information for a handshake that begins now, with current sizes.
pub(crate) fn infos(offers: &[Arc<Offer>]) -> Vec<ExportInfo> {
    offers.iter().map(|offer| offer.served.info()).collect()
}

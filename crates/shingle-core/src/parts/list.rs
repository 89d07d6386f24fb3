//! Doubly linked lists over slots or zones. The links live in one pool, apart from the lists, so
//! that a member is a `u32` and moving it never allocates. A pool grows when a member beyond its
//! capacity is added.

use prefetch_index::prefetch_index;

const NONE: u32 = u32::MAX;

/// The links of one pool of members, numbered from 0. A member is on at most one list of a pool at
/// a time: pushing it again ends the program. A second pool allows a second list.
#[derive(Clone, Debug)]
pub struct Links {
    links: Vec<(u32, u32)>, // (towards the head, towards the tail)
}

/// One list. By convention the hottest member is at the head, the coldest at the tail.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> List {
        List { head: NONE, tail: NONE, len: 0 }
    }
}

impl Links {
    /// Allocates for members `0..capacity`, and for others when they are added.
    #[must_use]
    pub fn new(capacity: usize) -> Links {
        Links { links: vec![(NONE, NONE); capacity] }
    }

    /// Prefetches the links of `member`.
    #[inline]
    pub fn prefetch(&self, member: u32) {
        prefetch_index(&self.links, member as usize);
    }

    /// Prefetches the links of its neighbours, which unlinking it writes.
    #[inline]
    pub fn prefetch_neighbours(&self, member: u32) {
        let (towards_head, towards_tail) = self.links[member as usize];
        prefetch_index(&self.links, towards_head as usize);
        prefetch_index(&self.links, towards_tail as usize);
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.links.capacity() * size_of::<(u32, u32)>()
    }

    /// Returns the neighbour of `member` towards the head.
    #[must_use]
    pub fn towards_head(&self, member: u32) -> Option<u32> {
        some(self.links[member as usize].0)
    }

    /// Returns the neighbour of `member` towards the tail.
    #[must_use]
    pub fn towards_tail(&self, member: u32) -> Option<u32> {
        some(self.links[member as usize].1)
    }
}

impl Links {
    /// Sets the links of `member`, which is on no list.
    #[inline]
    fn put(&mut self, member: u32, link: (u32, u32)) {
        match self.links.get_mut(member as usize) {
            // A member that is alone on its list has no links, but would become its own neighbour.
            Some(place) if *place != (NONE, NONE) || link.0 == member || link.1 == member => {
                on_a_list(member)
            }
            Some(place) => *place = link,
            None => self.grow(member, link),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, member: u32, link: (u32, u32)) {
        assert!(member != NONE, "a member of a list has a number below {NONE}");
        self.links.resize(member as usize, (NONE, NONE));
        self.links.push(link);
    }
}

fn some(member: u32) -> Option<u32> {
    (member != NONE).then_some(member)
}

/// Ends the program: the caller has lost track of its members, and the links are no longer valid.
#[cold]
#[inline(never)]
fn not_on_this_list(member: u32) -> ! {
    panic!(
        "List::unlink of member {member}, which is not on that list: it was taken off before, or the \
         list was found by a state that has changed since, as that of a slot that was named already"
    )
}

/// Ends the program: with a member on a list twice, a walk along the list would have no end.
#[cold]
#[inline(never)]
fn on_a_list(member: u32) -> ! {
    panic!(
        "List::push of member {member}, which is on a list of this pool: take it off first, as a policy does with a \
         slot that it names to leave"
    )
}

impl List {
    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the member at the head.
    #[must_use]
    pub fn head(&self) -> Option<u32> {
        some(self.head)
    }

    /// Returns the member at the tail.
    #[must_use]
    pub fn tail(&self) -> Option<u32> {
        some(self.tail)
    }

    /// Adds `member`, which is on no list of the pool, at the head.
    pub fn push_head(&mut self, links: &mut Links, member: u32) {
        links.put(member, (NONE, self.head));
        match some(self.head) {
            Some(head) => links.links[head as usize].0 = member,
            None => self.tail = member,
        }
        self.head = member;
        self.len += 1;
    }

    /// Prefetches what [`List::push_head`] writes beside the links of the new member.
    #[inline]
    pub fn prefetch_push(&self, links: &Links) {
        links.prefetch(self.head);
    }

    /// Adds `member`, which is on no list of the pool, at the tail.
    pub fn push_tail(&mut self, links: &mut Links, member: u32) {
        links.put(member, (self.tail, NONE));
        match some(self.tail) {
            Some(tail) => links.links[tail as usize].1 = member,
            None => self.head = member,
        }
        self.tail = member;
        self.len += 1;
    }

    /// Adds `member`, which is on no list of the pool, on the tail side of `place`, which is on
    /// this list.
    pub fn push_behind(&mut self, links: &mut Links, member: u32, place: u32) {
        let behind = core::mem::replace(&mut links.links[place as usize].1, member);
        links.put(member, (place, behind));
        match some(behind) {
            Some(behind) => links.links[behind as usize].0 = member,
            None => self.tail = member,
        }
        self.len += 1;
    }

    /// Adds `member`, which is on no list of the pool, on the head side of `place`, which is on
    /// this list.
    pub fn push_before(&mut self, links: &mut Links, member: u32, place: u32) {
        match links.towards_head(place) {
            Some(before) => self.push_behind(links, member, before),
            None => self.push_head(links, member),
        }
    }

    /// Removes `member`, which is on this list.
    ///
    /// # Panics
    /// If the member is detected not to be on this list: it is on none of the pool, or at an end of
    /// another.
    pub fn unlink(&mut self, links: &mut Links, member: u32) {
        let (towards_head, towards_tail) = links.links[member as usize];
        match some(towards_head) {
            Some(neighbour) => links.links[neighbour as usize].1 = towards_tail,
            None if self.head != member => not_on_this_list(member),
            None => self.head = towards_tail,
        }
        match some(towards_tail) {
            Some(neighbour) => links.links[neighbour as usize].0 = towards_head,
            None if self.tail != member => not_on_this_list(member),
            None => self.tail = towards_head,
        }
        self.len = self.len.checked_sub(1).unwrap_or_else(|| not_on_this_list(member));
        links.links[member as usize] = (NONE, NONE);
    }

    /// Moves `member`, which is on this list, to the head.
    ///
    /// # Panics
    /// As [`List::unlink`].
    #[inline]
    pub fn to_head(&mut self, links: &mut Links, member: u32) {
        if self.head == member {
            return;
        }
        let (towards_head, towards_tail) = links.links[member as usize];
        let (Some(before), Some(head)) = (some(towards_head), some(self.head)) else {
            not_on_this_list(member)
        };
        links.links[before as usize].1 = towards_tail;
        match some(towards_tail) {
            Some(behind) => links.links[behind as usize].0 = before,
            None if self.tail != member => not_on_this_list(member),
            None => self.tail = before,
        }
        links.links[head as usize].0 = member;
        links.links[member as usize] = (NONE, head);
        self.head = member;
    }

    /// Removes and returns the member at the tail.
    pub fn pop_tail(&mut self, links: &mut Links) -> Option<u32> {
        let tail = self.tail()?;
        self.unlink(links, tail);
        Some(tail)
    }

    /// Returns the members from the tail to the head.
    pub fn from_tail<'a>(&self, links: &'a Links) -> impl Iterator<Item = u32> + 'a {
        core::iter::successors(self.tail(), |&member| links.towards_head(member))
    }

    /// Panics unless the links of both directions agree with each other and with the length.
    pub fn check(&self, links: &Links) {
        let forth: Vec<u32> = self.from_tail(links).take(self.len as usize + 1).collect();
        let mut back: Vec<u32> =
            core::iter::successors(self.head(), |&member| links.towards_tail(member))
                .take(self.len as usize + 1)
                .collect();
        back.reverse();
        assert_eq!(forth, back, "the two directions of a list differ");
        assert_eq!(forth.len(), self.len as usize, "a list has lost count");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A policy that names a slot and does not forget it gets it back, and would go round in circles.
    #[test]
    fn a_member_that_is_on_a_list_is_taken_nowhere() {
        type Push = fn(&mut List, &mut Links, u32);
        let pushes: [Push; 4] = [
            List::push_head,
            List::push_tail,
            |list, links, member| list.push_behind(links, member, 0),
            |list, links, member| list.push_before(links, member, 0),
        ];
        for members in 1..5 {
            for (member, push) in (0..members).flat_map(|member| pushes.map(|push| (member, push)))
            {
                let (mut links, mut list) = (Links::new(5), List::default());
                (0..members).for_each(|member| list.push_head(&mut links, member));
                let pushed = catch_unwind(AssertUnwindSafe(|| push(&mut list, &mut links, member)));
                let told = pushed.expect_err("it was taken twice");
                let told = told.downcast_ref::<String>().expect("a message");
                assert!(told.starts_with(&format!("List::push of member {member}, ")), "{told}");
            }
        }
    }

    /// Wherever it was: links that are left behind would have its neighbours forget each other.
    #[test]
    fn a_member_is_taken_off_once() {
        for gone in 0..4 {
            let (mut links, mut list) = (Links::new(5), List::default());
            (0..4).for_each(|member| list.push_head(&mut links, member));
            list.unlink(&mut links, gone);
            let again = catch_unwind(AssertUnwindSafe(|| list.unlink(&mut links, gone)));
            assert!(again.is_err(), "{gone}");
            let moved = catch_unwind(AssertUnwindSafe(|| list.to_head(&mut links, gone)));
            assert!(moved.is_err(), "{gone}");
        }
    }

    proptest! {
        #[test]
        fn a_list_is_a_deque(ops in prop::collection::vec((0u8..7, 0u32..12), 0..200)) {
            let (mut links, mut list) = (Links::new(12), List::default());
            let mut model = VecDeque::new(); // front = head
            for (op, member) in ops {
                let known = model.contains(&member);
                match op {
                    0 if !known => { list.push_head(&mut links, member); model.push_front(member); }
                    1 if !known => { list.push_tail(&mut links, member); model.push_back(member); }
                    2 if known => { list.unlink(&mut links, member); model.retain(|&m| m != member); }
                    3 if known => {
                        list.to_head(&mut links, member);
                        model.retain(|&m| m != member);
                        model.push_front(member);
                    }
                    5 if !known && !list.is_empty() => {
                        let at = member as usize % model.len();
                        list.push_behind(&mut links, member, model[at]);
                        model.insert(at + 1, member);
                    }
                    6 if !known && !list.is_empty() => {
                        let at = member as usize % model.len();
                        list.push_before(&mut links, member, model[at]);
                        model.insert(at, member);
                    }
                    4 => { prop_assert_eq!(list.pop_tail(&mut links), model.pop_back()); }
                    _ => {}
                }
                list.check(&links);
                prop_assert_eq!(list.head(), model.front().copied());
                let from_tail: Vec<u32> = list.from_tail(&links).collect();
                prop_assert_eq!(from_tail, model.iter().rev().copied().collect::<Vec<_>>());
            }
        }
    }
}

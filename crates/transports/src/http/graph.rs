//! Loading where a connection takes any number of requests at a time: each object as soon as it is known, over one
//! connection for each origin.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::carrier::Browser;
use crate::error::Failure;

/// Who opens connections and asks over them.
pub(super) trait Multiplexed {
    /// What takes requests on a connection. Clones share the connection.
    type Sender: Clone;

    /// The last instant at which something was handled.
    fn now_ns(&self) -> i64;

    /// Opens a connection for an object that was asked for.
    ///
    /// # Errors
    /// A sentence: why there is none.
    async fn open(&self, asked: usize) -> Result<Self::Sender, Failure>;

    /// Fetches an object, and tells the browser what became of it.
    async fn fetch(&self, sender: Self::Sender, asked: usize);
}

/// The connection to an origin.
enum Way<S> {
    /// It is being opened, and these objects wait for it.
    Opening(Vec<usize>),
    Open(S),
}

enum Work<S> {
    Open { origin: usize, asked: usize },
    Fetch { sender: S, asked: usize },
}

enum Done<S> {
    Opened { origin: usize, outcome: Result<S, Failure> },
    Fetched,
}

async fn work<C: Multiplexed>(client: &C, what: Work<C::Sender>) -> Done<C::Sender> {
    match what {
        Work::Open { origin, asked } => Done::Opened { origin, outcome: client.open(asked).await },
        Work::Fetch { sender, asked } => {
            client.fetch(sender, asked).await;
            Done::Fetched
        }
    }
}

/// Loads all that becomes known. An origin that cannot be reached is tried again when something else of it is asked for.
pub(super) async fn load<C: Multiplexed>(client: &C, browser: &dyn Browser) {
    let mut ways: BTreeMap<usize, Way<C::Sender>> = BTreeMap::new();
    let mut under_way = FuturesUnordered::new();
    loop {
        while let Some(asked) = browser.ask(client.now_ns()) {
            let origin = browser.origin(asked);
            match ways.entry(origin) {
                Entry::Vacant(none) => {
                    none.insert(Way::Opening(vec![asked]));
                    under_way.push(work(client, Work::Open { origin, asked }));
                }
                Entry::Occupied(mut way) => match way.get_mut() {
                    Way::Opening(waiting) => waiting.push(asked),
                    Way::Open(sender) => {
                        let sender = sender.clone();
                        under_way.push(work(client, Work::Fetch { sender, asked }));
                    }
                },
            }
        }
        match under_way.next().await {
            None => return,
            Some(Done::Fetched) => {}
            Some(Done::Opened { origin, outcome }) => {
                let Some(Way::Opening(waiting)) = ways.remove(&origin) else { continue };
                match outcome {
                    Ok(sender) => {
                        for asked in waiting {
                            let sender = sender.clone();
                            under_way.push(work(client, Work::Fetch { sender, asked }));
                        }
                        ways.insert(origin, Way::Open(sender));
                    }
                    Err(failure) => {
                        for asked in waiting {
                            browser.over(asked, Err(failure.clone()), client.now_ns());
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use futures_util::FutureExt;

    use super::*;
    use crate::http::carrier::Opened;

    /// Objects as (what names it, origin), and what happened to them in words.
    struct Graph {
        objects: Vec<(usize, usize)>,
        known: RefCell<VecDeque<usize>>,
        told: RefCell<Vec<String>>,
        unreachable: Option<usize>,
    }

    impl Graph {
        fn of(objects: &[(usize, usize)]) -> Self {
            let known = RefCell::new(VecDeque::from([0]));
            Self { objects: objects.to_vec(), known, told: RefCell::default(), unreachable: None }
        }

        fn loaded(&self) -> Vec<String> {
            load(self, self).now_or_never().expect("nothing of it waits");
            self.told.take()
        }
    }

    impl Browser for Graph {
        fn known(&self) -> usize {
            self.known.borrow().len()
        }

        fn ask(&self, _: i64) -> Option<usize> {
            self.known.borrow_mut().pop_front()
        }

        fn origin(&self, object: usize) -> usize {
            self.objects[object].1
        }

        fn path(&self, _: usize) -> String {
            unreachable!("nothing is asked of a server")
        }

        fn opened(&self, _: usize, _: Opened) {}

        fn answered(&self, _: usize, _: i64) {}

        fn take(&self, _: usize, _: &[u8], _: i64) -> Result<(), Failure> {
            Ok(())
        }

        fn over(&self, object: usize, outcome: Result<(), Failure>, _: i64) {
            match outcome {
                Ok(()) => {
                    let named = (object + 1..self.objects.len()).filter(|it| self.objects[*it].0 == object);
                    self.known.borrow_mut().extend(named);
                    self.told.borrow_mut().push(format!("{object} there"));
                }
                Err(failure) => self.told.borrow_mut().push(format!("{object} {failure}")),
            }
        }
    }

    impl Multiplexed for Graph {
        type Sender = usize;

        fn now_ns(&self) -> i64 {
            0
        }

        async fn open(&self, asked: usize) -> Result<usize, Failure> {
            let origin = self.origin(asked);
            if self.unreachable == Some(origin) {
                return Err(Failure::new("unreachable"));
            }
            self.told.borrow_mut().push(format!("open {origin}"));
            Ok(origin)
        }

        async fn fetch(&self, sender: usize, asked: usize) {
            assert_eq!(sender, self.origin(asked));
            self.over(asked, Ok(()), 0);
        }
    }

    #[test]
    fn an_object_waits_for_the_one_that_names_it_and_an_origin_has_one_connection() {
        let graph = Graph::of(&[(0, 0), (0, 1), (0, 1), (1, 0), (3, 1)]);
        let told = graph.loaded();
        let place = |what: &str| told.iter().position(|it| it == what).expect(what);
        assert_eq!(told.iter().filter(|it| it.starts_with("open")).collect::<Vec<_>>(), ["open 0", "open 1"]);
        assert!(place("0 there") < place("open 1"));
        assert!(place("1 there") < place("3 there"));
        assert!(place("3 there") < place("4 there"));
        assert_eq!(told.len(), 7);
    }

    #[test]
    fn without_its_origin_an_object_fails_and_what_it_names_is_not_asked_for() {
        let mut graph = Graph::of(&[(0, 0), (0, 1), (1, 0), (0, 0)]);
        graph.unreachable = Some(1);
        assert_eq!(graph.loaded(), ["open 0", "0 there", "1 unreachable", "3 there"]);
    }
}

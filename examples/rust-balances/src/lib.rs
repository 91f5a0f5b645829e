//! A State View: who owns which account, and what is on it. What `examples/bank/balances.ts` is in TypeScript.
//!
//! The state crosses as bytes between calls. Here it is JSON: a list of accounts, in the order in which they were opened.
//! Nothing may depend on anything but the arguments: where an order matters, a map is a `BTreeMap`, never a `HashMap`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

wit_bindgen::generate!({ path: "../../sdk/component/wit", world: "state-view" });

#[derive(Deserialize, Serialize)]
struct Account {
    account: String,
    owner: String,
    cents: i64,
}

/// An event, as every read over HTTP gives it; what is not needed here is passed over.
#[derive(Deserialize)]
struct Event {
    id: String,
    subject: Option<String>,
    #[serde(flatten)]
    fact: Fact,
}

#[derive(Deserialize)]
#[serde(tag = "type", content = "data")]
enum Fact {
    #[serde(rename = "account.opened")]
    Opened { owner: String },
    #[serde(rename = "account.deposited")]
    Deposited { cents: i64 },
    #[serde(rename = "account.withdrawn")]
    Withdrawn { cents: i64 },
}

/// The accounts, and where each of them stands in the list.
struct Balances {
    accounts: Vec<Account>,
    places: BTreeMap<String, usize>,
}

impl Balances {
    /// The state is empty in front of the first event.
    fn decode(state: &[u8]) -> Result<Self, String> {
        let accounts: Vec<Account> = match state {
            [] => Vec::new(),
            bytes => serde_json::from_slice(bytes)
                .map_err(|error| format!("The state is damaged: {error}"))?,
        };
        let places = accounts
            .iter()
            .enumerate()
            .map(|(place, found)| (found.account.clone(), place))
            .collect();
        Ok(Self { accounts, places })
    }

    fn evolve(&mut self, event: &[u8]) -> Result<(), String> {
        let Event { id, subject, fact } = serde_json::from_slice(event)
            .map_err(|error| format!("The event is none of a bank: {error}"))?;
        let account = subject.ok_or_else(|| format!("The event {id} has no account"))?;
        match fact {
            Fact::Opened { owner } => self.open(account, owner),
            Fact::Deposited { cents } => self.book(&account, |sum| sum.checked_add(cents))?,
            Fact::Withdrawn { cents } => self.book(&account, |sum| sum.checked_sub(cents))?,
        }
        Ok(())
    }

    fn open(&mut self, account: String, owner: String) {
        let opened = Account {
            account: account.clone(),
            owner,
            cents: 0,
        };
        match self.places.get(&account) {
            Some(&place) => self.accounts[place] = opened,
            None => {
                self.places.insert(account, self.accounts.len());
                self.accounts.push(opened);
            }
        }
    }

    fn book(&mut self, account: &str, sum: impl Fn(i64) -> Option<i64>) -> Result<(), String> {
        let place = self.places.get(account);
        let place =
            place.ok_or_else(|| format!("The account {account} is used before it is opened"))?;
        let found = &mut self.accounts[*place];
        let cents = sum(found.cents);
        found.cents = cents.ok_or_else(|| format!("The account {account} has more than fits"))?;
        Ok(())
    }
}

struct Component;

impl Guest for Component {
    fn evolve(state: Vec<u8>, event: Vec<u8>) -> Result<Vec<u8>, String> {
        Self::evolve_many(state, vec![event])
    }

    /// One call for many events: the state is read and written once.
    fn evolve_many(state: Vec<u8>, events: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        let mut balances = Balances::decode(&state)?;
        for event in events {
            balances.evolve(&event)?;
        }
        json(&balances.accounts)
    }

    /// All accounts, or those of an owner.
    fn query(state: Vec<u8>, parameters: Vec<u8>) -> Result<Vec<u8>, String> {
        let wanted: BTreeMap<String, String> = serde_json::from_slice(&parameters)
            .map_err(|error| format!("The parameters are none: {error}"))?;
        let owner = wanted.get("subject.owner");
        let mut balances = Balances::decode(&state)?;
        balances
            .accounts
            .retain(|found| owner.is_none_or(|owner| *owner == found.owner));
        json(&balances.accounts)
    }
}

fn json(accounts: &[Account]) -> Result<Vec<u8>, String> {
    serde_json::to_vec(accounts).map_err(|error| error.to_string())
}

export!(Component);

/** WIT worlds of Cairn and of the EvidentSource SDK as text, with every kind of type. */

const EVENTS = `
  record datetime { seconds: u64, nanoseconds: u32 }
  variant cloudevent-data { binary(list<u8>), %string(string) }
  variant cloudevent-attribute-value {
    boolean(bool), integer(s32), %string(string), binary(list<u8>), uri(string), uri-ref(string), timestamp(datetime),
  }
  record cloudevent {
    id: string, source: string, specversion: string, %type: string, data: option<cloudevent-data>,
    attributes: list<tuple<string, cloudevent-attribute-value>>,
  }`;

/** One world for each kind of component, and one with all optional exports of a State View. */
export const OWN_WIT: string = `
package cairn:component@0.1.0;
interface types {
  ${EVENTS}
  record command {
    method: string, path: string, query-params: list<tuple<string, string>>, headers: list<tuple<string, string>>,
    body: option<list<u8>>,
  }
  variant command-error { validation-failed(string), unknown-command(string), internal-error(string) }
  record presentation { database: string, revision: u64, content-type: string }
  variant present-error { invalid-input(string), not-found(string), internal-error(string) }
  flags marks { one, two }
  enum direction { forward, reverse }
  record every {
    a: u8, b: s8, c: u16, d: s16, e: u32, f: s32, g: u64, h: s64, i: f32, j: f64, k: char, l: bool,
    m: marks, n: direction, o: result, p: result<u8>, q: result<_, u8>,
  }
}
interface state-reader {
  use types.{cloudevent, command-error, every};
  get-state-view: func(name: string, parameters: list<tuple<string, string>>) -> result<option<list<u8>>, command-error>;
  try-all: func(every: every) -> every;
}
interface sink {
  write: func(bytes: list<u8>) -> bool;
  continue-with: func(token: string);
}
interface folding {
  resource fold {
    constructor(state: list<u8>);
    apply: func(events: list<u8>) -> result<_, string>;
    snapshot: func() -> result<list<u8>, string>;
    count: static func() -> u32;
  }
}
interface evolving {
  evolve: func(state: list<u8>, event: list<u8>) -> result<list<u8>, string>;
}
world state-view {
  export evolve: func(state: list<u8>, event: list<u8>) -> result<list<u8>, string>;
  export query: func(state: list<u8>, parameters: list<u8>) -> result<list<u8>, string>;
}
world state-view-batch {
  include state-view;
  export evolve-many: func(state: list<u8>, events: list<list<u8>>) -> result<list<u8>, string>;
  export folding;
}
world state-view-interface {
  export evolving;
}
world state-change {
  use types.{command, cloudevent, command-error};
  import state-reader;
  export decide: func(command: command) -> result<list<cloudevent>, command-error>;
}
world presenter {
  use types.{presentation, present-error};
  import sink;
  export present: func(presentation: presentation, state: list<u8>) -> result<_, present-error>;
}
world two-evolves {
  include state-view;
  export evolving;
}`;

export const SDK_WIT: string = `
package evidentsource:decider@0.1.0;
interface cloudevents { ${EVENTS} }
interface state-view-types {
  use cloudevents.{datetime};
  record state-view-context {
    database: string, name: string, version: u64, database-revision: u64, database-revision-timestamp: datetime,
    content-type: option<string>, content-schema: option<string>,
  }
  record rendered-state-view {
    context: state-view-context, content: option<list<u8>>, last-modified-revision: u64,
    last-modified-timestamp: datetime,
  }
}
interface state-change-types {
  use cloudevents.{cloudevent, datetime};
  use state-view-types.{rendered-state-view};
  variant event-attribute { %stream(string), subject(option<string>), event-type(string) }
  variant event-attribute-prefix { %stream(string), subject(string), event-type(string) }
  variant event-selector-node {
    equals(event-attribute), starts-with(event-attribute-prefix), and(tuple<u32, u32>), or(tuple<u32, u32>),
  }
  record event-selector { nodes: list<event-selector-node> }
  enum query-direction { forward, reverse }
  record revision-range { start-at: u64 }
  record range-cursor { timestamp: datetime, revision: u64 }
  record effective-time-range { start-at: option<range-cursor>, end-at: option<datetime> }
  variant query-range { revision(revision-range), effective-time(effective-time-range) }
  record database-query {
    selector: event-selector, range: option<query-range>, direction: query-direction, limit: option<u64>,
  }
  resource database {
    name: func() -> string;
    revision: func() -> u64;
    revision-timestamp: func() -> datetime;
    effective-timestamp: func() -> option<datetime>;
    at-effective-timestamp: func(timestamp: datetime) -> database;
    query-events: func(query: database-query) -> list<cloudevent>;
    view-state: func(name: string, version: u64, parameters: list<tuple<string, event-attribute>>)
      -> option<rendered-state-view>;
  }
  record command { body: option<list<u8>>, content-type: string, content-schema: option<string> }
  record state-change-metadata {
    state-change-name: string, state-change-version: u64, last-seen-revision: u64, command-received-at: datetime,
    command-headers: list<tuple<string, string>>,
  }
  record batch-constraint-min { selector: event-selector, revision: u64 }
  record batch-constraint-max { selector: event-selector, revision: u64 }
  record batch-constraint-range { selector: event-selector, min: u64, max: u64 }
  variant batch-constraint { min(batch-constraint-min), max(batch-constraint-max), range(batch-constraint-range) }
  variant state-change-error {
    validation(string), conflict(string), not-found(string), unauthorized(string), internal(string),
  }
}
world state-view {
  use cloudevents.{cloudevent};
  use state-view-types.{rendered-state-view};
  export evolve: func(state-view: rendered-state-view, events: list<cloudevent>) -> option<list<u8>>;
}
world state-change {
  use cloudevents.{cloudevent};
  use state-change-types.{database, command, state-change-metadata, batch-constraint, state-change-error};
  export decide: func(db: borrow<database>, command: command, metadata: state-change-metadata)
    -> result<tuple<list<cloudevent>, list<batch-constraint>>, state-change-error>;
}`;

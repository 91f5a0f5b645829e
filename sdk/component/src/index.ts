/**
 * The component SDK: State Views, State Changes and presenters in TypeScript.
 *
 * For: the types of what a component is given and gives, and the functions that make one of plain code. A module
 * exports one of them as `component`; `cairn build` makes the WebAssembly of it, and the test kit runs it, as plain
 * code and as what was built.
 *
 * Nothing here knows Node or a host: it is bundled into the component, and runs in StarlingMonkey. cairn.wit is what
 * crosses; the functions that end in Guest are its exports.
 */
export type { CloudEventRecord, NewEvent, StoredEvent, Tagged } from './event.ts';
export type { Json } from './json.ts';
export { type EngineJson, mendJson } from './memory.ts';
export {
  definePresenter,
  type Part,
  type Presentation,
  type PresentationRecord,
  type PresentErrorKind,
  type Presenter,
  type PresenterComponent,
  type PresenterGuest,
  PresentFailed,
  presenterGuest,
  type SinkFunctions,
} from './presenter.ts';
export { isMatch, type Selector } from './selector.ts';
export {
  type Command,
  type CommandRecord,
  CommandRefused,
  type Database,
  type Decide,
  type DecidedOver,
  type Decider,
  decider,
  defineStateChange,
  type ReaderFunctions,
  type RefusalKind,
  type StateChange,
  type StateChangeComponent,
  type StateChangeGuest,
  type StateReader,
  stateChangeGuest,
} from './state-change.ts';
export {
  type Codec,
  defineStateView,
  GuestError,
  mapCodec,
  type Parameters,
  type Rendered,
  type StateView,
  type StateViewComponent,
  type StateViewGuest,
  stateViewGuest,
} from './state-view.ts';

/**
 * The component SDK: State Views, State Changes and presenters in TypeScript.
 *
 * For: the types of a component's inputs and outputs, and the functions that turn plain code into a component. A module
 * exports one as `component`; `cairn build` compiles it, and the test kit runs both the plain code and the built
 * component.
 *
 * Nothing here uses Node or a host: it is bundled into the component, and runs in StarlingMonkey. cairn.wit defines the
 * interface; the functions that end in Guest are its exports.
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

/** Hosts of components that are not built: they call the guest functions directly. */
import {
  type PresentErrorKind,
  type PresenterComponent,
  presenterGuest,
  type StateChangeComponent,
  type StateViewComponent,
  type StoredEvent,
  stateChangeGuest,
  stateViewGuest,
  type Tagged,
} from '../src/index.ts';
import type { ChangeHost, PresenterHost, Said, ViewHost } from './hosts.ts';

export function plainView<State, Event extends StoredEvent<string, unknown>>(
  component: StateViewComponent<State, Event>,
): ViewHost {
  const guest = stateViewGuest(component);
  return {
    fold: async (state, events) => said(() => guest.evolveMany(state, events)),
    step: async (state, event) => said(() => guest.evolve(state, event)),
    query: async (state, parameters) => said(() => guest.query(state, parameters)),
  };
}

export function plainChange(component: StateChangeComponent): ChangeHost {
  return { decide: async (command, reader) => said(() => stateChangeGuest(component, reader).decide(command)) };
}

export function plainPresenter<State>(component: PresenterComponent<State>): PresenterHost {
  return {
    async present(presentation, state, partsMax) {
      const parts: Uint8Array[] = [];
      let continuation: string | undefined;
      const guest = presenterGuest(component, {
        write: (bytes) => parts.push(bytes) < partsMax,
        continueWith: (token) => void (continuation = token),
      });
      const outcome = await said<undefined, Tagged<PresentErrorKind, string>>(async () => {
        await guest.present(presentation, state);
        return undefined;
      });
      return { outcome, parts, continuation };
    },
  };
}

/** An error with a payload is the component's result; any other error is a bug of the SDK. */
async function said<Value, Wrong>(work: () => Value | Promise<Value>): Promise<Said<Value, Wrong>> {
  try {
    return { kind: 'ok', value: await work() };
  } catch (error) {
    if (!isSaid<Wrong>(error)) throw error;
    return { kind: 'error', error: error.payload };
  }
}

function isSaid<Wrong>(error: unknown): error is { readonly payload: Wrong } {
  return error instanceof Error && 'payload' in error;
}

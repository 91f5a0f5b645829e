/** A State View whose state contains the last payload. */
import {
  defineStateView,
  type Json,
  type StateViewComponent,
  type StoredEvent,
} from '../../../../sdk/component/src/index.ts';

export interface Seen {
  readonly count: number;
  readonly last: Json;
}

export function payloadOf({ data, data_base64: bytes }: StoredEvent): Json {
  return bytes ?? data;
}

export const component: StateViewComponent<Seen> = defineStateView<Seen>({
  initialState: () => ({ count: 0, last: null }),
  evolve: ({ count }, event) => ({ count: count + 1, last: payloadOf(event) }),
});

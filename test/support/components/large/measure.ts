/**
 * A State Change that refuses every command with the length of a payload, read from an event or from the State View.
 */
import { CommandRefused, defineStateChange, type StateChangeComponent } from '../../../../sdk/component/src/index.ts';
import { payloadOf, type Seen } from './seen.ts';

export const component: StateChangeComponent = defineStateChange({
  routes: {
    'POST /events/{subject}': ({ parameters: { subject = '' } }, reader) => {
      const [event] = reader.events({ subject }, 1);
      throw refusal(event && payloadOf(event));
    },
    'POST /seen': (_, reader) => {
      throw refusal(reader.stateView<Seen & { readonly [name: string]: never }>('seen')?.last);
    },
  },
});

function refusal(payload: unknown): CommandRefused {
  return new CommandRefused('validation-failed', `It has ${JSON.stringify(payload ?? '').length} characters of JSON`);
}

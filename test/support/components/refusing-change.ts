/** A State Change that refuses every command with a code and details. */
import { CommandRefused, defineStateChange, type StateChangeComponent } from '../../../sdk/component/src/index.ts';

export const component: StateChangeComponent = defineStateChange({
  routes: {
    'POST /': () => {
      throw new CommandRefused('validation-failed', 'Not today', { code: 'closed', details: { opens: 'Monday' } });
    },
  },
});

/** A presenter that writes the last payload in one part. */
import { definePresenter, type PresenterComponent } from '../../../../sdk/component/src/index.ts';
import type { Seen } from './seen.ts';

export const component: PresenterComponent<Seen> = definePresenter<Seen>({
  *present({ state }) {
    yield JSON.stringify(state.last);
  },
});

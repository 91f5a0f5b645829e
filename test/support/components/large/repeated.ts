/** A presenter that writes the same part as often as requested. */
import { definePresenter, type PresenterComponent } from '../../../../sdk/component/src/index.ts';

const PART = new Uint8Array(262_144);

export const component: PresenterComponent<unknown> = definePresenter<unknown>({
  *present({ parameters: { parts } }) {
    for (let left = Number(parts); left > 0; left--) yield PART;
  },
});

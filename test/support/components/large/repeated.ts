/** A presenter that writes the same bytes, or with `text` new strings, as often as requested. */
import { definePresenter, type PresenterComponent } from '../../../../sdk/component/src/index.ts';

const PART = new Uint8Array(262_144);

export const component: PresenterComponent<unknown> = definePresenter<unknown>({
  *present({ parameters: { parts, text } }) {
    for (let left = Number(parts); left > 0; left--) yield text === undefined ? PART : 'x'.repeat(16_384);
  },
});

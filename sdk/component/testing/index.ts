/**
 * The test kit of components: scenarios (given, when, then), and the hosts that they run in.
 *
 *   const real = await built('component.wasm', 'state-view');
 *   for (const host of [plainView(component), real]) await view(host).given(opened).thenState([…]);
 *
 * Built components run as in a node: checked by a publisher, and called in an executor.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Kind } from '../build/kinds.ts';
import { RealHost } from './real.ts';

export type { ChangeHost, PresenterHost, ViewHost } from './hosts.ts';
export { plainChange, plainPresenter, plainView } from './plain.ts';
export { change, presenter, stored, view } from './scenario.ts';
export { RealHost };

/** Loads a built component. @throws Error when it is missing, or is refused */
export function built(path: string, kind: Kind): Promise<RealHost> {
  if (!existsSync(path)) throw new Error(`${path} is not there; cairn build makes it`);
  return RealHost.of(new Uint8Array(readFileSync(path)), kind);
}

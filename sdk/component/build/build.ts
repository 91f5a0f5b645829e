/**
 * From a TypeScript module to a component: bundled by rolldown with the functions that the world exports, and made into
 * WebAssembly by componentize-js, which puts StarlingMonkey around it.
 *
 * Features of WASI are left out, so the component imports none. What would need them is not there (fetch, timers), or
 * as it was when the component was built (the clock, random numbers), and so the same in each call.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { componentize } from '@bytecodealliance/componentize-js';
import { rolldown } from 'rolldown';
import { freeingWrites } from './freeing-writes.ts';
import { isKind, type Kind } from './kinds.ts';

const SDK = resolve(import.meta.dirname, '../src/index.ts');
const WIT = resolve(import.meta.dirname, '../wit/cairn.wit');
const OWN_INTERFACES = /^cairn:component\//;

/** The module in front of the author's: it exports what the world does. */
const ENTRIES: Readonly<Record<Kind, string>> = {
  'state-view': `
    const guest = stateViewGuest(component);
    export const { evolve, evolveMany, query } = guest;`,
  'state-change': `
    import * as reader from 'cairn:component/state-reader@0.1.0';
    const guest = stateChangeGuest(component, reader);
    export const { decide } = guest;`,
  presenter: `
    import * as sink from 'cairn:component/sink@0.1.0';
    const guest = presenterGuest(component, sink);
    export const { present } = guest;`,
};
const MAKERS: Readonly<Record<Kind, string>> = {
  'state-view': 'stateViewGuest',
  'state-change': 'stateChangeGuest',
  presenter: 'presenterGuest',
};

/** The component of the module at this path, which exports it as `component`. */
export async function buildComponent(path: string, kind: Kind): Promise<Uint8Array> {
  return componentFrom(await bundled(path, kind), kind);
}

/** The component of what was bundled. Takes seconds, most of them the start of the engine inside. */
export async function componentFrom(source: string, kind: Kind): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-build-'));
  try {
    const sourcePath = join(folder, 'component.js');
    writeFileSync(sourcePath, source);
    await freeingWrites();
    const { component } = await componentize({
      sourcePath,
      witPath: WIT,
      worldName: kind,
      disableFeatures: ['stdio', 'random', 'clocks', 'http', 'fetch-event'],
    });
    return component;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Which kind of component the module exports. @throws TypeError when it exports none. */
export async function kindOf(path: string): Promise<Kind> {
  const module: object = await import(resolve(path));
  const component: unknown = 'component' in module ? module.component : undefined;
  const kind = typeof component === 'object' && component !== null && 'kind' in component ? component.kind : undefined;
  if (isKind(kind)) return kind;
  throw new TypeError(`${path} exports no component: export const component = defineStateView({ … }), or another kind`);
}

const ENTRY = 'cairn-entry';

/** One module with all that the author's one imports. */
export async function bundled(path: string, kind: Kind): Promise<string> {
  const entry = `
    import { component } from ${JSON.stringify(resolve(path))};
    import { mendJson, ${MAKERS[kind]} } from ${JSON.stringify(SDK)};
    mendJson(JSON);${ENTRIES[kind]}`;
  const bundle = await rolldown({
    input: ENTRY,
    external: OWN_INTERFACES,
    platform: 'neutral',
    plugins: [
      {
        name: ENTRY,
        resolveId: (id) => (id === ENTRY ? id : undefined),
        load: (id) => (id === ENTRY ? entry : undefined),
      },
    ],
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', minify: false });
    return output[0].code;
  } finally {
    await bundle.close();
  }
}

/**
 * The imports that a component may have: the interfaces of the null WASI, and those of ours that its kind may use.
 *
 * Toolchains import WASI interfaces that their guests never call (12 with Rust's adapter, 18 with StarlingMonkey), so
 * refusing these would refuse their output. No interface on the list gives a guest a capability: see null-wasi.ts.
 *
 *   G5  Every import of a component is an instance on this list, with functions and types only.
 */
import { quote } from '#base';
import type { Component, ImportedItem } from './component-types.ts';
import { expectFewOffered } from './instance-counts.ts';
import { Refused } from './refusal.ts';

/** The kinds of #model, which executors do not load. */
export const COMPONENT_KINDS = ['state-view', 'state-change', 'presenter'] as const;
export type ComponentKind = (typeof COMPONENT_KINDS)[number];

/** Without versions: the answered functions have the same shape in every 0.2, and the rest is denied. */
const WASI_INTERFACES: readonly string[] = [
  'wasi:cli/environment',
  'wasi:cli/exit',
  'wasi:cli/stderr',
  'wasi:cli/stdin',
  'wasi:cli/stdout',
  'wasi:cli/terminal-input',
  'wasi:cli/terminal-output',
  'wasi:cli/terminal-stderr',
  'wasi:cli/terminal-stdin',
  'wasi:cli/terminal-stdout',
  'wasi:clocks/monotonic-clock',
  'wasi:clocks/wall-clock',
  'wasi:filesystem/preopens',
  'wasi:filesystem/types',
  'wasi:http/outgoing-handler',
  'wasi:http/types',
  'wasi:io/error',
  'wasi:io/poll',
  'wasi:io/streams',
  'wasi:random/insecure',
  'wasi:random/insecure-seed',
  'wasi:random/random',
];

/** Interfaces of types, which every kind may import, and those that the kind calls. */
const OWN_INTERFACES: Readonly<Record<ComponentKind, readonly string[]>> = {
  'state-view': ['types'],
  'state-change': ['types', 'state-reader'],
  presenter: ['types', 'sink'],
};
const OWN_PACKAGE = 'cairn:component/';
/** Interfaces of the EvidentSource SDK, which a State View imports for its types and a State Change calls. */
const SDK_INTERFACES: Readonly<Record<ComponentKind, readonly string[]>> = {
  'state-view': ['cloudevents', 'state-view-types'],
  'state-change': ['cloudevents', 'state-view-types', 'state-change-types'],
  presenter: [],
};
const SDK_PACKAGE = 'evidentsource:decider/';

const WASI_VERSION = /^0\.2\.\d+$/;

/** @throws Refused ForbiddenImport */
export function expectAllowedImports(component: Component, kind: ComponentKind): void {
  let offered = 0;
  for (const [name, imported] of component.imports) {
    offered += imported.item.sort === 'instance' ? imported.item.offers.size : 0;
    expectFewOffered(offered, 'imports', imported.offset);
    expectAllowed(name, imported, kind);
  }
}

function expectAllowed(name: string, { item, offset }: ImportedItem, kind: ComponentKind): void {
  // A type of an interface above; it cannot be called.
  if (item.sort === 'type') return;
  const [bare = '', version = ''] = name.split('@');
  const isWasi = WASI_INTERFACES.includes(bare) && WASI_VERSION.test(version);
  if (item.sort !== 'instance' || !(isWasi || isOurs(bare, kind))) throw forbidden(name, offset, kind);
  for (const [part, { sort }] of item.offers) {
    if (sort !== 'function' && sort !== 'type') throw forbidden(`${name}#${part}`, offset, kind);
  }
}

function isOurs(bare: string, kind: ComponentKind): boolean {
  return (
    OWN_INTERFACES[kind].some((name) => bare === OWN_PACKAGE + name) ||
    SDK_INTERFACES[kind].some((name) => bare === SDK_PACKAGE + name)
  );
}

function forbidden(name: string, offset: number, kind: ComponentKind): Refused {
  const own = OWN_INTERFACES[kind].map((ours) => OWN_PACKAGE + ours).join(', ');
  const message =
    `A ${kind} may not import ${quote(name)}; it may import ${own}, and of WASI 0.2 clocks, random, cli, io, filesystem ` +
    'and http, which give it nothing';
  return new Refused('ForbiddenImport', offset, message);
}

// Components in the form of the EvidentSource SDK, built by componentize-js like a toolchain of another language would.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { componentize } from '@bytecodealliance/componentize-js';
import { spending } from '../costs.ts';
import { keptOr, ROOT } from './kept.ts';
import { SDK_WIT } from './wit.ts';

const JSON_OF = `
  const shown = (value) => JSON.stringify(value, (_, each) =>
    typeof each === 'bigint' ? Number(each)
    : each?.BYTES_PER_ELEMENT === 1 ? new TextDecoder().decode(each) : each);
  const bytesOf = (value) => new TextEncoder().encode(shown(value));
  const read = (bytes) => JSON.parse(new TextDecoder().decode(bytes));`;

/** Its state is a list of all events, and the context of the last call. */
export const SDK_VIEW: string = `${JSON_OF}
export function evolve(view, events) {
  const state = view.content === undefined || view.content.length === 0 ? { events: [] } : read(view.content);
  for (const event of events) state.events.push(event);
  const { content, ...told } = view;
  return bytesOf({ ...state, told });
}`;

/** Executes its command: queries, whose results are the payload of its event, then conditions, then a refusal. */
export const SDK_CHANGE: string = `${JSON_OF}
const big = (value) => value === undefined ? undefined : BigInt(value);
const time = (value) => ({ seconds: BigInt(value), nanoseconds: 0 });
const ranged = (range) => range === undefined ? undefined
  : range.revision !== undefined ? { tag: 'revision', val: { startAt: BigInt(range.revision) } }
  : { tag: 'effective-time', val: { startAt: undefined, endAt: range.end === undefined ? undefined : time(range.end) } };
const asked = (db, ask) => {
  switch (ask.ask) {
    case 'events': return db.queryEvents({ selector: { nodes: ask.nodes }, range: ranged(ask.range),
      direction: ask.direction ?? 'forward', limit: big(ask.limit) }).map(({ id }) => id);
    case 'whole': return db.queryEvents({ selector: { nodes: ask.nodes }, range: undefined, direction: 'forward',
      limit: undefined });
    case 'view': return db.viewState(ask.name, BigInt(ask.version), ask.parameters ?? []);
    case 'at': return ask.asks.map((next) => asked(db.atEffectiveTimestamp(time(ask.seconds)), next));
    case 'effective': return db.effectiveTimestamp() ?? 'none';
    case 'time': return db.revisionTimestamp();
    default: return db[ask.ask]();
  }
};
const condition = ({ tag, nodes, revision, min, max }) => ({ tag, val: tag === 'range'
  ? { selector: { nodes }, min: BigInt(min), max: BigInt(max) } : { selector: { nodes }, revision: BigInt(revision) } });
export function decide(db, command, metadata) {
  const { asks = [], conditions = [], refusal, events = 1, loop = false, type = 'decided' } = read(command.body);
  while (loop);
  const answers = asks.map((ask) => asked(db, ask));
  if (refusal !== undefined) throw Object.assign(new Error(), { payload: refusal });
  const { body, ...rest } = command;
  const data = { tag: 'string', val: shown({ answers, command: rest, metadata }) };
  const attributes = [['datacontenttype', { tag: 'string', val: 'application/json' }],
    ['subject', { tag: 'string', val: 's' }]];
  const emitted = Array.from({ length: events }, () =>
    ({ id: '', source: 'decisions', specversion: '1.0', type, data, attributes }));
  return [emitted, conditions.map(condition)];
}`;

/** Component of this source in a world of the SDK, or of modified types. */
export async function sdkComponent(
  worldName: 'state-view' | 'state-change',
  source: string,
  types: string = SDK_WIT,
): Promise<Uint8Array> {
  const lock = readFileSync(join(ROOT, 'package-lock.json'));
  const hash = createHash('sha256').update(worldName).update(source).update(types).update(lock).digest('hex');
  return keptOr(hash, () => spending('building components', () => componentFrom(worldName, source, types)));
}

async function componentFrom(worldName: string, source: string, types: string): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-sdk-'));
  const [sourcePath, witPath] = [join(folder, 'component.js'), join(folder, 'decider.wit')];
  try {
    writeFileSync(sourcePath, source);
    writeFileSync(witPath, types);
    const disableFeatures = ['stdio', 'random', 'clocks', 'http', 'fetch-event'] as const;
    const { component } = await componentize({ sourcePath, witPath, worldName, disableFeatures: [...disableFeatures] });
    return component;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

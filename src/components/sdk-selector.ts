/**
 * Selectors of the EvidentSource SDK: a list of nodes, children before their parents, the root last. Nodes may be
 * shared, so a short list may describe an exponentially large tree; the size is checked before the tree is built.
 */
import type { Selector } from '#model';
import { isList, isRecord, type Value } from '#wasm';
import { parsedSelector } from './decision-reads.ts';

interface Node {
  /** JSON of the selector, or of its parts, which a parent of the same kind merges. */
  readonly parts: readonly string[];
  readonly kind: 'term' | 'and' | 'or';
}

/** Maximum number of parts; `parsedSelector` checks the result. */
const PARTS_MAX = 1000;

/** Attributes and prefixes, from the names of the SDK to ours. */
const ATTRIBUTES: ReadonlyMap<Value, string> = new Map([
  ['stream', 'by_stream'],
  ['subject', 'by_subject'],
  ['event-type', 'by_type'],
]);

/** The selector, or a description of its fault. */
export function sdkSelector(value: Value): Selector | string {
  const nodes = isRecord(value) ? value['nodes'] : undefined;
  if (!isList(nodes)) return 'A selector of the SDK is a record of nodes';
  const made: Node[] = [];
  for (const node of nodes) {
    const read = nodeFrom(node, made);
    if (typeof read === 'string') return `The node ${made.length} of a selector ${read}`;
    made.push(read);
  }
  const root = made.at(-1);
  return root === undefined ? 'A selector of the SDK has one node at least' : parsedSelector(jsonOf(root));
}

function nodeFrom(node: Value, made: readonly Node[]): Node | string {
  const { tag, val } = isRecord(node) ? node : { tag: undefined, val: undefined };
  if (tag === 'equals' || tag === 'starts-with') {
    const term = termFrom(val, tag === 'equals' ? '' : '_prefix');
    return term === undefined ? 'names no stream, subject or event type' : { kind: 'term', parts: [term] };
  }
  if ((tag !== 'and' && tag !== 'or') || !isList(val)) return 'is of no kind that is known';
  const children = val.map((index) => (isIndex(index) ? made[Number(index)] : undefined));
  const [left, right] = children;
  if (left === undefined || right === undefined) return 'joins nodes that do not come before it';
  const parts = [left, right].flatMap((child) => (child.kind === tag ? child.parts : [jsonOf(child)]));
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (parts.length > PARTS_MAX || bytes > PARTS_MAX * PARTS_MAX) return 'comes to more parts than a selector may have';
  return { kind: tag, parts };
}

function isIndex(value: Value): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function jsonOf({ kind, parts }: Node): string {
  return kind === 'term' ? (parts[0] ?? '') : `{"${kind}":[${parts.join(',')}]}`;
}

/** An absent subject matches events without one. */
function termFrom(attribute: Value, suffix: string): string | undefined {
  const { tag, val } = isRecord(attribute) ? attribute : { tag: undefined, val: undefined };
  const kind = ATTRIBUTES.get(tag);
  if (kind === undefined) return undefined;
  if (tag === 'subject' && val === undefined && suffix === '') return '{"noSubject":{}}';
  return typeof val === 'string' ? JSON.stringify({ type: `${kind}${suffix}`, value: val }) : undefined;
}

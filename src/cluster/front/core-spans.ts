/** What the core has seen of traced requests, as spans: it knows numbers, and the catalog of the front their names. */
import { CATALOG_GROUP, type GroupId } from '#base';
import type { PastSpan, SpanAttributes, Traced } from '#observability';
import type { LiveCatalog } from '../catalog/catalog-mirror.ts';
import type { WriteOptions } from '../node.ts';
import type { TraceContext } from '../peer/trace-context.ts';
import type { SpanFact } from '../thread/link.ts';

type Names = Pick<LiveCatalog, 'node' | 'bindingOf'>;

const NAMES: Readonly<Record<SpanFact['what'], string>> = {
  propose: 'cairn.peer/Propose',
  create: 'cairn.peer/CreateDatabase',
  read: 'cairn.peer/ReadIndex',
  entry: 'cairn.entry',
};

/** For the core, which asks others in the same trace; undefined: nothing of it is kept. */
export function traceOf(asked: Traced | undefined): { readonly trace: TraceContext } | undefined {
  const span = asked?.span;
  if (span === undefined || !span.isRecorded) return undefined;
  const { traceparent, tracestate } = span.headers();
  if (traceparent === undefined) return undefined;
  return { trace: tracestate === undefined ? { traceparent } : { traceparent, tracestate } };
}

/** Options of a write that the front passes to the core. */
export function asksOf(options: WriteOptions): { readonly staysHere: boolean; readonly trace?: TraceContext } {
  return { staysHere: options.requireLeader ?? false, ...traceOf(options) };
}

export function pastSpan(fact: SpanFact, catalog: Names): PastSpan {
  const { what, role: kind, parent, spanId, startMs, endMs, events, group, failure } = fact;
  const name = NAMES[what];
  const headers: Readonly<Record<string, string | undefined>> = { ...parent };
  const attributes = {
    'cairn.group': group,
    'cairn.database': databaseOf(group, catalog),
    ...(kind !== 'internal' && { 'rpc.system.name': 'cairn', 'rpc.method': name }),
    ...peerOf(fact, catalog),
  };
  const failed = failure && { 'error.type': failure.code, 'cairn.error.reason': failure.reason };
  return {
    name,
    kind,
    parent: (header) => headers[header],
    spanId,
    startMs,
    endMs,
    events,
    attributes,
    failure: failed,
  };
}

function databaseOf(group: GroupId, catalog: Names): string | undefined {
  return group === CATALOG_GROUP ? undefined : catalog.bindingOf(group)?.name;
}

/** Who was asked, and where; of who has asked the port is not known, for it is not the one that he listens on. */
function peerOf({ role, node }: SpanFact, catalog: Names): SpanAttributes {
  if (node === undefined) return {};
  const { name, peer } = catalog.node(node) ?? {};
  const known = { 'cairn.peer.node': node, 'cairn.peer.name': name };
  if (role === 'server') return { ...known, 'client.address': peer?.host };
  return { ...known, 'server.address': peer?.host, 'server.port': peer?.port };
}

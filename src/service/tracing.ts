/**
 * Trace spans of operations and of their waits.
 *
 * ```
 *   server span (transport) ── cairn.transact ── cairn.propose        queue, log, commit and apply, by the front's clock
 *                           ├─ cairn.query_events ── cairn.read_barrier
 *                           ├─ cairn.read_slices                      from the first slice to the last
 *                           └─ cairn.open_state_view, cairn.fold, cairn.present, cairn.decide
 * ```
 *
 * Without a span in the request, nothing is created.
 */
import { type Event, isDatabaseName, readEvent } from '#model';
import { ending, type HeaderOf, type Span, type Traced } from '#observability';
import type { ServiceContext } from './context.ts';

/** Wraps an operation in its own span whenever its request has one. */
export function traced<Request extends Traced & { readonly databaseName?: string }, Reply extends object | void>(
  operation: string,
  context: ServiceContext,
  run: (context: ServiceContext, request: Request) => Promise<Reply>,
): (request: Request) => Promise<Reply> {
  return (request) => {
    const parent = request.span;
    if (parent === undefined) return run(context, request);
    const span = parent.child(`cairn.${operation}`, 'internal', {
      'db.system.name': 'cairn',
      'db.operation.name': operation,
      'cairn.database': nameOf(request),
    });
    return ending(span, async () => {
      const reply = await run(context, { ...request, span });
      if (reply !== undefined) span.set(factsOf(reply));
      return reply;
    });
  };
}

/** An invalid name may contain anything, so it is not recorded. */
function nameOf({ databaseName }: { readonly databaseName?: string }): string | undefined {
  return databaseName !== undefined && isDatabaseName(databaseName) ? databaseName : undefined;
}

/** Attributes from the reply of any operation. */
function factsOf(reply: object): Parameters<Span['set']>[0] {
  const { revision, databaseId, kind }: { revision?: unknown; databaseId?: unknown; kind?: unknown } = reply;
  return {
    'cairn.revision': typeof revision === 'number' ? revision : undefined,
    'cairn.database_id': typeof databaseId === 'string' ? databaseId : undefined,
    'cairn.result': typeof kind === 'string' ? kind : undefined,
  };
}

/** Maximum number of links per transaction: more would make the span unreadable. */
const LINKS_MAX = 32;
/** Maximum number of events that are searched for links. */
const LOOKED_AT_MAX = 100;

/** Links to the spans in which the events were produced, by the CloudEvents tracing extension, each once. */
export function linkCreation(span: Span, events: readonly Uint8Array[]): void {
  const linked = new Set<string>();
  for (const bytes of events.slice(0, LOOKED_AT_MAX)) {
    if (linked.size >= LINKS_MAX) return;
    const { extensions } = readEvent(bytes, 0, bytes.length);
    const parent = textOf(extensions, 'traceparent');
    if (parent === undefined || linked.has(parent)) continue;
    linked.add(parent);
    const header: HeaderOf = (name) => textOf(extensions, name);
    span.link(header);
  }
}

function textOf(extensions: Event['extensions'], name: string): string | undefined {
  const extension = extensions.get(name);
  return extension?.kind === 'string' ? extension.value : undefined;
}

/**
 * Determines the instance and the revision that a read may be answered from (V1, V4, V5, V6, V9, V11).
 *
 * ```
 * number     readable here? ─ no ──> wait readWaitMs ── still not ──> ask the leader ── beyond ──> RevisionNotFound
 * latest     read index: the leader's latest, readable here
 * cached     what this node has answered, readable here; of a recovered instance at least what it was recovered with
 * ```
 * Before a name is reported as unknown, or an instance as gone, the leader of the catalog is asked (V9). An applied
 * revision may be ahead of its rows; a read that needs them waits until they can be read. The catalog is checked when a
 * request starts (C21), and again with the latest revision. A wait for a revision ends when the instance is gone.
 */
import type { AskedRevision, Revision } from '#base';
import type { Binding, Node } from '#cluster';
import { inSpan, type Traced } from '#observability';
import type { ServiceContext } from './context.ts';
import { revisionNotFound } from './errors.ts';
import { assertHeld, goneFrom, onInstance, type ReadView, refusalBy, scopeOf, untilCurrent } from './instance.ts';
import type { ReadAt, ReadRequest, RevisionFloor } from './operations.ts';

export async function openView(context: ServiceContext, request: ReadRequest, at: ReadAt): Promise<ReadView> {
  request.signal.throwIfAborted();
  const { databaseName, signal } = request;
  return onInstance(context.node, databaseName, signal, (binding) => viewOf(context, request, binding, at));
}

function viewOf(context: ServiceContext, request: ReadRequest, binding: Binding, at: ReadAt): Promise<ReadView> {
  request.signal.throwIfAborted();
  assertHeld(context.node, binding);
  const { span } = request;
  if (span === undefined) return barrier(context, request, binding, at);
  return inSpan(span, 'cairn.read_barrier', async (waiting) => {
    const view = await barrier(context, request, binding, at);
    waiting?.set({ 'cairn.at': typeof at === 'string' ? at : 'revision', 'cairn.revision': view.revision });
    return view;
  });
}

/** Limit of the wait. */
type ReadWait = Pick<ReadRequest, 'signal'>;

/** Waits until the requested revision can be read here. */
async function barrier(context: ServiceContext, request: ReadRequest, binding: Binding, at: ReadAt): Promise<ReadView> {
  const revision = await openRevision(context, request, binding, at);
  if (!(await aboveFloors(context, request, binding))) return { binding, revision };
  return { binding, revision: at === 'cached' ? context.node.readable(binding.group) : revision };
}

/** Waits until this node has the revision that the request requires; returns false when it requires none. */
export async function aboveFloors(
  context: ServiceContext,
  request: Pick<ReadRequest, 'signal' | 'minRevision' | 'shown'>,
  binding: Binding,
): Promise<boolean> {
  const { minRevision, shown } = request;
  const isShown = shown?.databaseId === binding.databaseId;
  if (isShown) await untilReadable(context, request, binding, shown.revision);
  if (minRevision !== undefined) await untilReadable(context, request, binding, minRevision);
  return isShown || minRevision !== undefined;
}

/** The requested revision, once it can be read here. */
export async function openRevision(
  context: ServiceContext,
  wait: ReadWait,
  binding: Binding,
  at: ReadAt,
): Promise<Revision> {
  if (at === 'cached') return cachedRevision(context, wait.signal, binding);
  if (at === 'latest') return latestOf(context, wait, binding);
  return untilReadable(context, wait, binding, at);
}

/** The latest local revision that is not older than any that clients were shown; it contacts no other node. */
export async function cachedRevision(
  context: ServiceContext,
  signal: AbortSignal,
  binding: Binding,
): Promise<Revision> {
  const { node } = context;
  const begun = binding.recovery?.revision;
  // The recovered data is still being copied here.
  if (begun !== undefined && node.answered(binding.group) < begun)
    await untilReadable(context, { signal }, binding, begun);
  const revision = node.answered(binding.group);
  if (node.readable(binding.group) < revision) await waitForRevision(context, { signal, binding, revision });
  return node.readable(binding.group);
}

async function latestOf(context: ServiceContext, { signal }: ReadWait, binding: Binding): Promise<Revision> {
  const latest = await latestRevision(context.node, binding);
  signal.throwIfAborted();
  await untilCurrent(context.node, binding, signal);
  return latest;
}

/** The latest revision of an instance according to its leader. */
export async function latestRevision(node: Node, binding: Binding): Promise<Revision> {
  try {
    return await node.latest(binding.group);
  } catch (failure) {
    throw refusalBy(binding, failure);
  }
}

/**
 * Resolves with the revision once it can be read here; rejects with RevisionNotFound when the database does not have
 * it. It does not wait for a revision that no database can have.
 */
async function untilReadable(
  context: ServiceContext,
  asked: ReadWait,
  binding: Binding,
  revision: AskedRevision,
): Promise<Revision> {
  if (typeof revision === 'number') {
    if (context.node.readable(binding.group) >= revision) return revision;
    const wait = { signal: asked.signal, binding, revision, limitMs: context.limits.readWaitMs };
    if (await waitForRevision(context, wait)) return revision;
  }
  const latest = await latestOf(context, asked, binding);
  if (typeof revision === 'number' && latest >= revision) return revision;
  throw revisionNotFound(scopeOf({ binding, revision: latest }), revision);
}

/** Waits until this node has the revision that a write requires. It needs no rows: an answered revision is applied. */
export async function untilAtFloor(
  context: ServiceContext,
  { floor, span }: Traced & { readonly floor?: RevisionFloor | undefined },
  binding: Binding,
): Promise<void> {
  if (floor === undefined || context.node.answered(binding.group) >= floor.minRevision) return;
  await inSpan(span, 'cairn.read_barrier', async (waiting) => {
    waiting?.set({ 'cairn.at': 'revision' });
    await untilReadable(context, floor, binding, floor.minRevision);
  });
}

export interface RevisionWait {
  readonly signal: AbortSignal;
  readonly binding: Binding;
  readonly revision: Revision;
  /** Absent: limited by the signal only. */
  readonly limitMs?: number;
}

/** Resolves with true when the revision can be read here, or with false after the limit. */
export async function waitForRevision(context: ServiceContext, wait: RevisionWait): Promise<boolean> {
  const { signal, binding, revision, limitMs } = wait;
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  const stop = limitMs === undefined ? undefined : context.timers.after(limitMs, abort);
  signal.addEventListener('abort', abort);
  try {
    const outcome = await context.node.waitFor(binding.group, revision, limit.signal);
    signal.throwIfAborted();
    if (outcome === 'gone') throw goneFrom(context.node, binding);
    return outcome === 'reached';
  } finally {
    stop?.();
    signal.removeEventListener('abort', abort);
  }
}

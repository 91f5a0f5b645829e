/**
 * `cairn cluster drain --stay`, `--dry-run` and `undrain`, for preStop hooks and manual upgrades.
 *
 * ```
 *   ask ── begun ──> poll ── no leaderships left ──> 0
 *    │ ^── later ──┘  │ ^── some left ──┘
 *    ├── no quorum: 3  └── the time is over: 4
 *    └── not in service, or no leader: 1
 * ```
 * `later` is the answer while the catalog elects a leader: the request is repeated for ELECTION_MS. A node that does
 * not describe itself starts, or was removed: it has no leaderships, and another attempt changes nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { formatAddress, type NodeId } from '#base';
import type {
  AdminReply,
  AskAdmin,
  ClusterDescription,
  DialledAddress,
  DrainOrder,
  RegisteredNode,
  UndrainOrder,
} from '#cluster';
import { EXIT_REFUSED } from '../../process/refusals.ts';
import { type CommandPorts, jsonText } from '../command-line.ts';
import { renderMovable } from './cluster-report.ts';

/** Exit code (docs/operations/cluster.md) of a drain that would leave the catalog or a database without a quorum. */
export const EXIT_NO_QUORUM = 3;
/** Exit code of a drain that has timed out with leaderships left. */
const EXIT_LEFT = 4;

/** Time for an order until its answer: longer than a node takes to query other nodes. */
export const ORDER_MS = 15_000;
/** Minimum timeout of a request, when the drain has almost timed out. */
const ORDER_LEAST_MS = 1_000;
const POLL_MS = 250;
/** Longer than an election. A catalog without a leader for this long has no quorum, and no leadership can move. */
const ELECTION_MS = 15_000;

export interface DrainPorts extends CommandPorts {
  readonly ask: AskAdmin;
  /** Waits; tests replace it. */
  readonly pause?: (ms: number) => Promise<void>;
  readonly monotonicMs?: () => number;
}

export interface AskedDrain {
  readonly at: DialledAddress;
  /** Undefined: the node that the command connects to. */
  readonly node: NodeId | undefined;
  readonly isJson: boolean;
  readonly withinMs: number;
  readonly lingerMs: number;
}

type DescribedNode = ClusterDescription['nodes'][number];

interface Refused {
  readonly code: number;
  readonly why: string;
  /** True when the same request may succeed a moment later. */
  readonly isLater: boolean;
}

/**
 * Drains, and waits for `--linger` so that load balancers notice, also when the drain is refused for the quorum. A node
 * that is not in service and the only node of a cluster do not wait: clients have no other node. Returns the exit code.
 */
export async function drainAndStay(asked: AskedDrain, ports: DrainPorts): Promise<number> {
  const { pause = sleep, monotonicMs = () => performance.now() } = ports;
  const endMs = monotonicMs() + asked.lingerMs;
  const code = await drainWithin(asked, ports);
  if (code === EXIT_REFUSED || (code === EXIT_NO_QUORUM && (await isOnlyNode(asked, ports)))) return code;
  const restMs = endMs - monotonicMs();
  if (restMs > 0) await pause(restMs);
  return code;
}

/** Returns whether the cluster has no other node for clients. */
async function isOnlyNode({ at }: AskedDrain, { ask: put }: DrainPorts): Promise<boolean> {
  const reply = await put(at, { order: { kind: 'describe' }, isPassedOn: false }, ORDER_MS);
  return reply.kind === 'described' && reply.cluster.nodes.filter(({ state }) => state !== 'removed').length === 1;
}

async function drainWithin(asked: AskedDrain, ports: DrainPorts): Promise<number> {
  const { withinMs } = asked;
  const { pause = sleep, monotonicMs = () => performance.now(), err } = ports;
  const endMs = monotonicMs() + withinMs;
  let target = asked;
  let left: number | undefined;
  let electedByMs: number | undefined;
  for (;;) {
    // Each drain request is recorded in the audit log. A dry run is not, and has the same answer.
    const isDryRun = left !== undefined;
    const order = { kind: 'drain', isGranted: false, stays: true, isDryRun } as const;
    const answer = await ask(target, ports, order, Math.min(ORDER_MS, Math.max(ORDER_LEAST_MS, endMs - monotonicMs())));
    const isLate = monotonicMs() >= endMs;
    if ('why' in answer) {
      electedByMs ??= monotonicMs() + ELECTION_MS;
      if (isLate || !answer.isLater || monotonicMs() >= electedByMs) return refuse(answer, ports);
    } else {
      electedByMs = undefined;
      const { node, movableLeads, isDraining } = answer;
      if (!isDraining) {
        const why = `node ${node} does not drain any more: it was restarted, or undrained`;
        return refuse({ code: EXIT_REFUSED, why }, ports);
      }
      if (movableLeads === 0) {
        return say(asked, ports, answer, `node ${node} is drained: it has no leaderships, and is not ready\n`);
      }
      if (isLate) {
        const why = `node ${node} has ${movableLeads} leaderships left after ${withinMs / 1000} s`;
        return refuse({ code: EXIT_LEFT, why }, ports);
      }
      if (movableLeads !== left) err(`node ${node} has ${movableLeads} leaderships to transfer\n`);
      left = movableLeads;
      target = { ...asked, node };
    }
    await pause(POLL_MS);
  }
}

/** Reports whether a node may drain, and how many leaderships would move. @returns the exit code */
export async function checkDrain(asked: AskedDrain, ports: DrainPorts): Promise<number> {
  const answer = await ask(asked, ports, { kind: 'drain', isGranted: false, stays: true, isDryRun: true });
  return 'why' in answer ? refuse(answer, ports) : say(asked, ports, answer, renderMovable(answer));
}

/** @returns the exit code */
export async function undrain(asked: AskedDrain, ports: DrainPorts): Promise<number> {
  const answer = await ask(asked, ports, { kind: 'undrain' });
  if ('why' in answer) return refuse(answer, ports);
  return say(asked, ports, answer, `node ${answer.node} accepts leaderships and clients\n`);
}

type OfAnyNode = Omit<DrainOrder, 'node'> | Omit<UndrainOrder, 'node'>;

async function ask(
  { at, node }: AskedDrain,
  { ask: put }: DrainPorts,
  order: OfAnyNode,
  timeoutMs: number = ORDER_MS,
): Promise<DescribedNode | Refused> {
  const self: AdminReply | undefined =
    node === undefined ? await put(at, { order: { kind: 'describe' }, isPassedOn: false }, timeoutMs) : undefined;
  const number = self?.kind === 'described' ? self.cluster.node : node;
  const reply =
    number === undefined ? self : await put(at, { order: { ...order, node: number }, isPassedOn: false }, timeoutMs);
  if (reply?.kind === 'done' && isDescribed(reply.node)) return reply.node;
  const why = reply !== undefined && 'reason' in reply ? reply.reason : 'the answer is malformed';
  const place = formatAddress(at);
  if (number === undefined) {
    const hint = 'it is starting, it was removed, or it has another peer address';
    return { code: EXIT_REFUSED, why: `no node is in service at ${place} (${why}): ${hint}`, isLater: false };
  }
  if (reply?.kind !== 'faulty') return { code: EXIT_REFUSED, why: `no answer from ${place} (${why})`, isLater: true };
  const isQuorum = order.kind === 'drain' && reply.code === 'failed_precondition';
  return { code: isQuorum ? EXIT_NO_QUORUM : EXIT_REFUSED, why, isLater: false };
}

/** A reply to a drain describes the node as it is now. */
function isDescribed(node: RegisteredNode): node is DescribedNode {
  return 'movableLeads' in node;
}

function refuse({ code, why }: Pick<Refused, 'code' | 'why'>, { err }: DrainPorts): number {
  err(`cairn cluster: ${why}\n`);
  return code;
}

function say({ isJson }: AskedDrain, { out }: DrainPorts, node: DescribedNode, text: string): number {
  out(isJson ? jsonText(node) : text);
  return 0;
}

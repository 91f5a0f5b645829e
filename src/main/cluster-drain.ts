/**
 * `cairn cluster drain --stay`, `--dry-run` and `undrain`: what a preStop hook and an upgrade by hand ask of a node.
 *
 * ```
 *   ask ── begun ──> look ── no leaderships left ──> 0
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
import { renderMovable } from './cluster-report.ts';

/** The exit codes of `cairn cluster …` (docs/operations/cluster.md). */
export const EXIT_REFUSED = 1;
export const EXIT_USAGE = 2;
/** The exit code of a drain when something would have no quorum without the node. */
export const EXIT_NO_QUORUM = 3;
/** The exit code of a drain when its time is over and no other node has taken some leaderships of the node. */
const EXIT_LEFT = 4;

/** Longer than a node takes to ask others. */
const ANSWER_MS = 15_000;
/** Of the last question, when the time is nearly over. */
const ANSWER_LEAST_MS = 1_000;
const LOOK_MS = 250;
/** Longer than an election. A catalog without a leader for this long has no quorum, and no leadership can move. */
const ELECTION_MS = 15_000;

export interface DrainPorts {
  readonly ask: AskAdmin;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** By default as long as it says. */
  readonly pause?: (ms: number) => Promise<void>;
  readonly monotonicMs?: () => number;
}

export interface AskedDrain {
  readonly at: DialledAddress;
  /** Undefined: the node that is asked. */
  readonly node: NodeId | undefined;
  readonly isJson: boolean;
  readonly withinMs: number;
  readonly lingerMs: number;
}

type DescribedNode = ClusterDescription['nodes'][number];

interface Refused {
  readonly code: number;
  readonly why: string;
  /** Whether the same order may be carried out in a moment. */
  readonly isLater: boolean;
}

/**
 * The exit code. Load balancers find out meanwhile that the node takes no new clients, also where it is refused for a
 * quorum. Neither a node that is not in service nor the only node of a cluster waits for that: clients go nowhere else.
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

/** Whether load balancers have no other node to give clients to. */
async function isOnlyNode({ at }: AskedDrain, { ask: put }: DrainPorts): Promise<boolean> {
  const reply = await put(at, { order: { kind: 'describe' }, isPassedOn: false }, ANSWER_MS);
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
    // Each order is a line of the audit log; a dry run is none, and answers the same.
    const isDryRun = left !== undefined;
    const order = { kind: 'drain', isGranted: false, stays: true, isDryRun } as const;
    const answer = await ask(
      target,
      ports,
      order,
      Math.min(ANSWER_MS, Math.max(ANSWER_LEAST_MS, endMs - monotonicMs())),
    );
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
      if (movableLeads !== left) err(`node ${node} has ${movableLeads} leaderships to hand over\n`);
      left = movableLeads;
      target = { ...asked, node };
    }
    await pause(LOOK_MS);
  }
}

/** Whether a node may drain, and what would move; the exit code. */
export async function checkDrain(asked: AskedDrain, ports: DrainPorts): Promise<number> {
  const answer = await ask(asked, ports, { kind: 'drain', isGranted: false, stays: true, isDryRun: true });
  return 'why' in answer ? refuse(answer, ports) : say(asked, ports, answer, renderMovable(answer));
}

/** The exit code. */
export async function undrain(asked: AskedDrain, ports: DrainPorts): Promise<number> {
  const answer = await ask(asked, ports, { kind: 'undrain' });
  if ('why' in answer) return refuse(answer, ports);
  return say(asked, ports, answer, `node ${answer.node} takes leaderships and clients\n`);
}

type OfAnyNode = Omit<DrainOrder, 'node'> | Omit<UndrainOrder, 'node'>;

async function ask(
  { at, node }: AskedDrain,
  { ask: put }: DrainPorts,
  order: OfAnyNode,
  timeoutMs: number = ANSWER_MS,
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
    const hint = 'it starts, it was removed, or its peer address is another one';
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
  out(isJson ? `${JSON.stringify(node, undefined, 2)}\n` : text);
  return 0;
}

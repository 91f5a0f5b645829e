// A fault with a new cluster: the whole cluster is lost except for one node, and its data founds another cluster with
// the code of `cairn recover` (ADR 0045). All nodes end, one continues, and the others join with empty volumes. One of
// them may return earlier with its old data, which it should not do.
//
// The command itself may be interrupted by power failures at any point, and is repeated until it succeeds.
//
// For clients, each name is possibly deleted, and the next instance is created if the node has a replica, by a client
// that no other client knows.
import { nodeOf } from '#base';
import {
  faultInRefounding,
  openStoppedNode,
  type Refounded,
  refound,
  type StoppedPorts,
  type Survey,
  surveyOf,
} from '#cluster';
import type { Armed } from '../disk/sim-disk.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { History } from '../history.ts';
import { DIRECTORY } from '../node/process.ts';
import { MACHINES } from '../node/releases.ts';
import type { ClusterPlace } from '../node/seat.ts';
import type { Ending, Maintenance, SimNode } from '../node/sim-node.ts';

const STEPS = ['draft', 'log', 'store', 'settled'] as const;

/** A power failure in the command, after a step or within a call of the disk, and the surviving share. */
interface Interruption {
  readonly share: number;
  readonly step: (typeof STEPS)[number] | undefined;
  readonly armed: Armed | undefined;
}

export interface Refounding {
  readonly kind: 'refound';
  readonly survivor: number;
  /** End of all nodes. */
  readonly ending: Ending;
  readonly interruptions: readonly Interruption[];
  /** Time for which one of the others is back with its old data; 0: not at all. */
  readonly returnsUs: number;
  /** The node that continues has lost all rows of LevelDB. */
  readonly isRowless: boolean;
}

export interface RefounderParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly history: History;
  readonly watchers: () => Pick<ClusterPlace, 'watch' | 'durability'>;
  readonly onBug: (failure: unknown) => void;
}

/** Result for the surviving node. */
interface Told {
  readonly survey: Survey;
  readonly refounded: Refounded;
}

const SECOND_US = 1_000_000;
const CLIENT = 'refounder';
/** Thrown for a power failure in a command. */
const INTERRUPTED = new Error('The power fails');

export function drawRefounding(random: Rng): Refounding {
  const share = (): number => random.pick([0, 0.5, 1]);
  const interruption = (): Interruption =>
    random.chance(0.5)
      ? { share: share(), step: random.pick(STEPS), armed: undefined }
      : { share: share(), step: undefined, armed: { mishap: 'cut', after: random.between(0, 30) } };
  return {
    kind: 'refound',
    survivor: random.between(0, 9),
    ending: random.chance(0.3) ? { kind: 'process' } : { kind: 'power', share: share() },
    interruptions: Array.from({ length: random.between(0, 3) }, interruption),
    returnsUs: random.chance(0.5) ? random.between(2, 12) * SECOND_US : 0,
    isRowless: random.chance(0.3),
  };
}

export class Refounder {
  readonly #parts: RefounderParts;
  #isAtWork = false;
  #isOver = false;

  constructor(parts: RefounderParts) {
    this.#parts = parts;
  }

  /** True between the end of one cluster and the start of the next. */
  get isAtWork(): boolean {
    return this.#isAtWork;
  }

  /** Starts nothing more. */
  heal(): void {
    this.#isOver = true;
  }

  do(action: Refounding): void {
    if (this.#isOver) return;
    this.#isAtWork = true;
    this.#refound(action)
      .catch((failure: unknown) => this.#parts.onBug(failure))
      .finally(() => void (this.#isAtWork = false));
  }

  async #refound({ survivor, ending, interruptions, returnsUs, isRowless }: Refounding): Promise<void> {
    const { simulator, nodes, history, watchers } = this.#parts;
    // Prefers nodes with data: an operator would check what each node has.
    const holding = nodes.filter(holdsSomething);
    const choice = holding.length > 0 ? holding : nodes;
    const left = choice[survivor % choice.length];
    if (left === undefined) return;
    for (const node of nodes) {
      node.crash(ending);
      node.hold();
    }
    await simulator.sleep(SECOND_US, `${CLIENT} looks`);
    if (isRowless) {
      await left.store.loseRows({ isAll: true, databases: 1 });
      simulator.note(`${left.name} has lost all rows`);
    }
    const endedUs = simulator.nowUs;
    // Databases that the node does not know may be gone.
    for (const name of this.#names()) history.begin(CLIENT, 'delete', { name }, endedUs);
    const held = this.#heldBy(left);
    const told = await this.#goOn(left, interruptions);
    if (told === undefined) {
      for (const node of nodes) node.release();
      return;
    }
    this.#tell(told, held);
    const founding = { ...watchers(), seeds: [] };
    left.moves(founding);
    history.refoundings.push({ endedUs, beganUs: simulator.nowUs });
    left.release();
    const [first, ...others] = nodes.filter((node) => node !== left);
    for (const node of others) this.#join(node, left, founding);
    if (first === undefined) return;
    if (returnsUs > 0) {
      first.release();
      await simulator.sleep(returnsUs, `${CLIENT} waits`);
      first.hold();
    }
    this.#join(first, left, founding);
  }

  /** A node that joins with an empty volume is a new store. */
  #join(node: SimNode, first: SimNode, founding: Pick<ClusterPlace, 'watch' | 'durability'>): void {
    const seeds = [first.name];
    node.wipe(seeds);
    node.moves({ ...founding, seeds });
    node.release();
  }

  /** Undefined when the node has nothing to continue with. */
  async #goOn(node: SimNode, interruptions: readonly Interruption[]): Promise<Told | undefined> {
    const { simulator } = this.#parts;
    let survey: Survey | undefined;
    const see = (seen: Survey): void => void (survey = seen);
    for (const interruption of [...interruptions, undefined]) {
      try {
        const said = await node.maintain((tool) => command(tool, interruption, see));
        if (typeof said === 'string') {
          simulator.note(`${node.name} is not gone on with`, () => `${node.name} is not gone on with: ${said}`);
          return undefined;
        }
        if (survey === undefined) throw new Error(`${node.name} is gone on with, and nobody was shown how`);
        return { survey, refounded: said };
      } catch (failure) {
        if (interruption === undefined) throw failure;
        simulator.note(`the recovery of ${node.name} is cut short`);
        await node.losePower(interruption.share);
      }
    }
    return undefined;
  }

  /** Adds the operations to the history that clients would have observed. */
  #tell({ survey, refounded }: Told, held: ReadonlySet<string>): void {
    const { simulator, history } = this.#parts;
    const { nowUs } = simulator;
    simulator.note(`${CLIENT}: ${refounded.bindings.length} databases go on, ${survey.lost.length} are lost`);
    for (const { name, databaseId } of refounded.bindings) {
      const before = survey.databases.find((each) => each.name === name);
      if (before === undefined) throw new Error(`${name} goes on, which was not shown before`);
      const creation = history.begin(CLIENT, 'create', { name }, nowUs);
      creation.outcome = { kind: 'ok', value: { databaseId, revision: 0, createdAtMs: 0 } };
      creation.returnedUs = nowUs;
      history.recoveries.push({ before: before.databaseId, databaseId, revision: before.revision, held });
    }
  }

  /** Ids of client transactions in the log on the node's disk. */
  #heldBy({ disk }: SimNode): ReadonlySet<string> {
    const payloads = disk.held.payloads(disk.segments()).map((bytes) => Buffer.from(bytes));
    const ids = new Set(this.#parts.history.of('transact').map(({ request }) => request.transactionId));
    const isThere = (id: string): boolean => {
      const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
      return payloads.some((payload) => payload.includes(bytes));
    };
    return new Set([...ids].filter(isThere));
  }

  /** Every name that clients have used. */
  #names(): readonly string[] {
    const { operations } = this.#parts.history;
    return [...new Set(operations.flatMap(({ request }) => ('name' in request ? [request.name] : [])))];
  }
}

/** According to the catalog of the node. */
function holdsSomething({ process }: SimNode): boolean {
  const node = process?.node;
  return (
    node?.catalog.list().some(({ replicas }) => replicas.some((each) => nodeOf(each) === node.identity.node)) ?? false
  );
}

/** Runs `cairn recover` with acceptance; returns a refusal as text. */
async function command(
  { disk, openStore: open, random, nowMs }: Maintenance,
  interruption: Interruption | undefined,
  see: (survey: Survey) => void,
): Promise<Refounded | string> {
  disk.arm(interruption?.armed);
  const openStore: StoppedPorts['openStore'] = async () => ({
    store: await open(),
    storeDirectory: DIRECTORY,
    logDirectory: DIRECTORY,
  });
  await using node = await openStoppedNode(DIRECTORY, { openStore, disk, places: disk.places, machines: MACHINES });
  const fault = faultInRefounding(node);
  if (fault?.isDone === true) return { identity: node.identity, bindings: node.catalog.list() };
  if (fault !== undefined) return fault.reason;
  const survey = surveyOf(node);
  see(survey);
  const done = (step: (typeof STEPS)[number]): void => {
    if (step === interruption?.step) throw INTERRUPTED;
  };
  return await refound(node, { nowMs, random, done });
}

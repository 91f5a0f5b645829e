// Somebody for whom the whole cluster is lost but one node, and who begins another one with what that node holds, by
// what `cairn recover` does (ADR 0045): all nodes end, one is gone on with, the others join with empty volumes. One of
// them may come back before with what it had, as it must not.
//
// The command itself may be cut short by a power failure, wherever it is, and is repeated until it is done.
//
// To clients it is, of each name, perhaps a delete, and the create of the next instance where the node holds one, by
// somebody of whom nobody else knows.
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
import type { ClusterPlace } from '../node/seat.ts';
import type { Ending, Maintenance, SimNode } from '../node/sim-node.ts';

const STEPS = ['draft', 'log', 'store', 'settled'] as const;

/** Where the power fails in the command, and what survives: behind a step of it, or in a call of the disk. */
interface Interruption {
  readonly share: number;
  readonly step: (typeof STEPS)[number] | undefined;
  readonly armed: Armed | undefined;
}

export interface Refounding {
  readonly kind: 'refound';
  readonly survivor: number;
  /** How all nodes end. */
  readonly ending: Ending;
  readonly interruptions: readonly Interruption[];
  /** For how long one of the others is back with what it had; 0: not at all. */
  readonly returnsUs: number;
}

export interface RefounderParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly history: History;
  readonly watchers: () => Pick<ClusterPlace, 'watch' | 'durability'>;
  readonly onBug: (failure: unknown) => void;
}

/** What became of the node that is gone on with. */
interface Told {
  readonly survey: Survey;
  readonly refounded: Refounded;
}

const SECOND_US = 1_000_000;
const CLIENT = 'refounder';
/** The power fails in a command. */
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
  };
}

export class Refounder {
  readonly #parts: RefounderParts;
  #isAtWork = false;
  #isOver = false;

  constructor(parts: RefounderParts) {
    this.#parts = parts;
  }

  /** Between the end of one cluster and the beginning of the next. */
  get isAtWork(): boolean {
    return this.#isAtWork;
  }

  /** Begins nothing more. */
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

  async #refound({ survivor, ending, interruptions, returnsUs }: Refounding): Promise<void> {
    const { simulator, nodes, history, watchers } = this.#parts;
    // One of those that hold something, if there is one: whoever chooses asks each what it has.
    const holding = nodes.filter(holdsSomething);
    const choice = holding.length > 0 ? holding : nodes;
    const left = choice[survivor % choice.length];
    if (left === undefined) return;
    for (const node of nodes) {
      node.crash(ending);
      node.hold();
    }
    await simulator.sleep(SECOND_US, `${CLIENT} looks`);
    const endedUs = simulator.nowUs;
    // Of what the node does not know nobody can say whether it is gone.
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

  /** A held node comes as a store that nobody knows. */
  #join(node: SimNode, first: SimNode, founding: Pick<ClusterPlace, 'watch' | 'durability'>): void {
    const seeds = [first.name];
    node.wipe(seeds);
    node.moves({ ...founding, seeds });
    node.release();
  }

  /** Undefined when the node has nothing that could be gone on with. */
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

  /** Writes down what clients would know if they had asked for it. */
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

  /** Those transactions of clients that stand in the log on the disk of the node. */
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

/** By the catalog as the node has it. */
function holdsSomething({ process }: SimNode): boolean {
  const node = process?.node;
  return (
    node?.catalog.list().some(({ replicas }) => replicas.some((each) => nodeOf(each) === node.identity.node)) ?? false
  );
}

/** What `cairn recover` does with the acceptance; why it refuses, as a text. */
async function command(
  { disk, store, random, nowMs }: Maintenance,
  interruption: Interruption | undefined,
  see: (survey: Survey) => void,
): Promise<Refounded | string> {
  disk.arm(interruption?.armed);
  const openStore: StoppedPorts['openStore'] = () =>
    Promise.resolve({
      store: { ...store, checkpointFiles: () => store.syncFiles() },
      storeDirectory: DIRECTORY,
      logDirectory: DIRECTORY,
      storeLogs: [],
    });
  await using node = await openStoppedNode(DIRECTORY, { openStore, disk, places: disk.places });
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

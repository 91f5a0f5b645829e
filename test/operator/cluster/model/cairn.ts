// A naive model of a cluster of Cairn: processes on volumes, membership, replicas and leaderships. One step changes one
// thing. It rejects admin requests by its own rules, which follow docs/operations/cluster.md.
import { Metadata, status } from '@grpc/grpc-js';
import {
  CallError,
  type ClusterAdmin,
  type ClusterDescription,
  type ClusterNode,
  type NodeOrder,
} from '../../../../operator/src/client/index.ts';
import type { Random } from '../../../model/generate/random.ts';

/** Content of a volume. */
export interface Volume {
  node?: number;
  usedGi?: number;
}

export interface Process {
  readonly pod: string;
  readonly volume: Volume;
  readonly release: string;
  readonly levelMax: number;
  /** Pods that must exist when a cluster is founded. */
  readonly founders: readonly string[];
  readonly isLearner: boolean;
  isDraining: boolean;
  isCaughtUp: boolean;
  /** True when it is ready but lags far behind the leaders of its replicas. */
  isLagging: boolean;
}

interface Node {
  readonly id: number;
  readonly name: string;
  readonly isLearner: boolean;
  state: ClusterNode['state'];
}

interface Database {
  readonly name: string;
  /** Number of replicas that it asks for. */
  copies: number;
  readonly replicas: Set<number>;
  /** Nodes with a replica that does not vote. */
  readonly learners: Set<number>;
  /** Replicas that were added and have not caught up. */
  readonly behind: Set<number>;
  leader: number | undefined;
}

/** Reachable nodes of the admin requests. With "Outdated", a node without a leader answers with an old state. */
export type Reach = 'All' | 'Outdated' | 'None';

const COPIES = 3;
const REMEMBERED_MAX = 40;
const LAG = 5_000;

export class CairnModel implements ClusterAdmin {
  readonly processes: Map<string, Process> = new Map();
  readonly nodes: Node[] = [];
  readonly voters: Set<number> = new Set();
  readonly databases: Database[] = [];
  level = 0;
  /** Reachable nodes of the operator's admin requests. */
  reach: Reach = 'All';
  /** Stops all changes that happen by themselves. */
  isFrozen = false;
  /** Called before an upgrade is finalized. */
  onFinalize: () => void = () => undefined;
  /** Called before a node leaves. */
  onDecommission: (node: number) => void = () => undefined;
  /** Called when a recovery of a database is requested. */
  onRecover: (database: string) => void = () => undefined;
  /** Called when a cluster is founded again from the data of a node. */
  onRefound: () => void = () => undefined;
  /** Share of the volume of a pod that is used, in percent. */
  usageOf: (pod: string) => number = () => 0;
  readonly #random: Random;
  readonly #remembered: ClusterDescription[] = [];
  /** Number of times that the cluster was founded again. */
  #refoundings = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The process of a node that runs as a member. */
  processOf(id: number): Process | undefined {
    return [...this.processes.values()].find(({ volume }) => volume.node === id && this.isMember(id));
  }

  isMember(id: number | undefined): boolean {
    return this.nodes.some((node) => node.id === id && node.state !== 'removed');
  }

  isUp(id: number): boolean {
    return this.processOf(id) !== undefined;
  }

  /** True when a node and each of its replicas have caught up. */
  hasCaughtUp(id: number | undefined): boolean {
    const process = this.processOf(id ?? 0);
    return (
      process?.isCaughtUp === true && !process.isLagging && !this.databases.some(({ behind }) => behind.has(id ?? 0))
    );
  }

  hasMajority(ids: ReadonlySet<number>, isCounted: (id: number) => boolean = (id) => this.isUp(id)): boolean {
    return 2 * [...ids].filter(isCounted).length > ids.size;
  }

  get hasQuorum(): boolean {
    return this.hasMajority(this.voters);
  }

  /** True when a pod may become ready. */
  isReady(pod: string): boolean {
    const process = this.processes.get(pod);
    return process !== undefined && this.isMember(process.volume.node) && process.isCaughtUp && !process.isDraining;
  }

  step(): void {
    if (this.isFrozen) return;
    if (this.nodes.length > 0) this.#remembered.push(this.#describe());
    if (this.#remembered.length > REMEMBERED_MAX) this.#remembered.shift();
    this.#found();
    this.#catchUp();
    for (const database of this.databases) this.#elect(database);
    if (!this.hasQuorum) return;
    this.#join();
    for (const database of this.databases) this.#place(database);
    this.#changeVoters();
    const left = this.nodes.find(({ id, state }) => state === 'leaving' && !this.voters.has(id) && !this.#holds(id));
    if (left !== undefined) left.state = 'removed';
  }

  #found(): void {
    const [first] = [...this.processes.values()].filter(
      ({ founders, isLearner }) =>
        !isLearner &&
        founders.every((name) => this.processes.get(name)?.volume.node === undefined && this.processes.has(name)),
    );
    if (this.nodes.length > 0 || first === undefined) return;
    for (const name of first.founders) this.#add(name, true);
    this.level = Math.min(...[...this.processes.values()].map(({ levelMax }) => levelMax));
    for (const name of ['shop', 'orders', 'bank']) {
      const replicas = new Set([...this.voters].slice(0, COPIES));
      this.databases.push({
        name,
        copies: COPIES,
        replicas,
        learners: new Set(),
        behind: new Set(),
        leader: undefined,
      });
    }
  }

  #add(name: string, isVoter: boolean): void {
    const process = this.processes.get(name);
    if (process === undefined) return;
    const id = this.nodes.length + 1;
    this.nodes.push({ id, name, isLearner: process.isLearner, state: 'active' });
    process.volume.node = id;
    process.isCaughtUp = isVoter;
    if (isVoter) this.voters.add(id);
  }

  #join(): void {
    const empty = [...this.processes.values()].find(({ volume }) => volume.node === undefined);
    // A release that does not know the level of the cluster cannot join it.
    if (empty !== undefined && empty.levelMax >= this.level) this.#add(empty.pod, false);
  }

  #catchUp(): void {
    for (const process of this.processes.values()) {
      if (this.#random.chance(60) && (this.hasQuorum || process.volume.node !== undefined)) process.isCaughtUp = true;
      if (this.#random.chance(3)) process.isLagging = false;
    }
    for (const { behind } of this.databases) {
      for (const id of behind) if (this.isUp(id) && this.#random.chance(15)) behind.delete(id);
    }
  }

  #elect(database: Database): void {
    const { behind } = database;
    const up = [...database.replicas].filter((id) => this.processOf(id)?.isCaughtUp === true && !behind.has(id));
    if (!this.hasMajority(database.replicas)) {
      database.leader = undefined;
      return;
    }
    const willing = up.filter((id) => this.processOf(id)?.isDraining === false);
    const isLed = database.leader !== undefined && (willing.length === 0 ? up : willing).includes(database.leader);
    // A node that is drained transfers its leaderships one by one.
    const isTransfer = database.leader !== undefined && up.includes(database.leader);
    if (!isLed && up.length > 0 && this.#random.chance(isTransfer ? 20 : 70)) {
      database.leader = this.#random.pick(willing.length > 0 ? willing : up);
    }
  }

  /** Adds a replica when one is missing; removes one only when the others suffice. */
  #place(database: Database): void {
    const { replicas, behind, copies } = database;
    if (!this.hasMajority(replicas)) return;
    if (this.#placeLearner(database)) return;
    const staying = [...replicas].filter((id) => !this.#goes(id));
    const free = this.#takers().filter((id) => !replicas.has(id));
    const [next] = free;
    if (staying.length < copies && next !== undefined) {
      replicas.add(next);
      behind.add(next);
      return;
    }
    const surplus = staying.length > copies ? staying.at(-1) : undefined;
    const going = [...replicas].find((id) => this.#goes(id)) ?? surplus;
    const left = new Set([...replicas].filter((id) => id !== going));
    if (going === undefined || !this.hasMajority(left, (id) => this.isUp(id) && !behind.has(id))) return;
    replicas.delete(going);
    behind.delete(going);
  }

  /** Adds or removes a replica of a learner; returns false when there is nothing to change. */
  #placeLearner({ learners, behind }: Database): boolean {
    const going = [...learners].find((id) => this.#goes(id));
    if (going !== undefined) {
      behind.delete(going);
      return learners.delete(going);
    }
    const next = this.nodes.find(({ id, isLearner }) => isLearner && !learners.has(id) && !this.#goes(id));
    if (next === undefined) return false;
    learners.add(next.id);
    behind.add(next.id);
    return true;
  }

  #changeVoters(): void {
    const next = this.#takers().find((id) => !this.voters.has(id));
    if (next !== undefined) {
      this.voters.add(next);
      return;
    }
    const going = [...this.voters].find((id) => this.#goes(id));
    const left = new Set([...this.voters].filter((id) => id !== going));
    if (going !== undefined && this.hasMajority(left)) this.voters.delete(going);
  }

  #takers(): readonly number[] {
    const active = this.nodes.filter(
      ({ id, state, isLearner }) => !isLearner && state === 'active' && this.processOf(id)?.isCaughtUp === true,
    );
    return active.map(({ id }) => id);
  }

  /** True for a node that leaves, and for a lost one that another node of the same name has replaced. */
  #goes(id: number): boolean {
    const node = this.nodes.find((each) => each.id === id);
    const isReplaced = this.nodes.some((each) => each.name === node?.name && each.id > id && this.isUp(each.id));
    return node?.state !== 'active' || (isReplaced && !this.isUp(id));
  }

  #holds(id: number): boolean {
    return this.databases.some(({ replicas, learners }) => replicas.has(id) || learners.has(id));
  }

  async describe(): Promise<ClusterDescription> {
    const reached = [...this.processes.values()].some(({ volume }) => this.isMember(volume.node));
    if (!reached || this.reach === 'None') throw refusal('UNAVAILABLE', 'no node answers');
    if (this.reach === 'All' && this.hasQuorum) return this.#describe();
    const remembered = this.#random.pick(this.#remembered);
    // A node measures its own disk.
    const nodes = remembered.nodes.map((node) => ({ ...node, diskUsedPercent: this.#usageOf(node.id) }));
    return { ...remembered, nodes, isConfirmed: false };
  }

  #describe(): ClusterDescription {
    return {
      clusterID: this.#refoundings === 0 ? 'cluster' : `cluster-${this.#refoundings}`,
      isConfirmed: this.hasQuorum,
      level: this.level,
      nodes: this.nodes.map((node) => this.#describeNode(node)),
      databases: this.databases.map(({ name, leader, replicas, learners, behind }) => ({
        name,
        nodes: [...replicas],
        leader,
        members: [...replicas, ...learners].map((node) => ({
          node,
          isCaughtUp: this.processOf(node)?.isCaughtUp === true && !behind.has(node),
        })),
      })),
    };
  }

  #describeNode({ id, name, isLearner, state }: Node): ClusterNode {
    const process = this.processOf(id);
    const led = this.databases.filter(({ leader }) => leader === id);
    const movable = led.filter(({ replicas }) => [...replicas].some((other) => other !== id && this.isUp(other)));
    return {
      id,
      name,
      zone: '',
      state,
      answers: process !== undefined,
      isLearner,
      role: this.voters.has(id) ? 'voter' : isLearner ? 'learner' : 'none',
      levelMax: process?.levelMax ?? this.level,
      isDraining: process?.isDraining ?? false,
      leads: led.length,
      movableLeads: process === undefined ? 0 : movable.length,
      lag: process?.isLagging === true ? LAG : 0,
      release: process?.release,
      refused: [],
      diskUsedPercent: this.#usageOf(id),
    };
  }

  #usageOf(id: number): number {
    const process = this.processOf(id);
    return process === undefined ? 0 : this.usageOf(process.pod);
  }

  order(order: NodeOrder, node: number): Promise<void> {
    return this[order](node);
  }

  async drain(id: number): Promise<void> {
    const process = this.#answering(id);
    const stays = (other: number): boolean => other !== id && this.processOf(other)?.isDraining === false;
    const groups = [this.voters, ...this.databases.map(({ replicas }) => replicas)].filter((group) => group.has(id));
    if (!process.isDraining && !groups.every((group) => this.hasMajority(group, stays))) {
      throw refusal('FAILED_PRECONDITION', `there would be no quorum without node ${id}`);
    }
    process.isDraining = true;
  }

  async undrain(id: number): Promise<void> {
    this.#answering(id).isDraining = false;
  }

  async decommission(id: number): Promise<void> {
    this.onDecommission(id);
    await this.removeByHand(id);
  }

  /** A user removes a node. */
  async removeByHand(id: number): Promise<void> {
    const node = this.#known(id);
    if (node.state !== 'active') return;
    if (node.isLearner) {
      node.state = 'leaving';
      return;
    }
    const others = new Set(this.#takers().filter((other) => other !== id));
    const groups = [this.voters, ...this.databases.map(({ replicas }) => replicas)];
    const canGoOn = groups.every((group) => {
      const left = new Set([...group].filter((other) => other !== id));
      return this.hasMajority(group) && (left.size === 0 ? others.size > 0 : this.hasMajority(left));
    });
    if (others.size === 0 || !canGoOn) throw refusal('FAILED_PRECONDITION', `no quorum without node ${id}`);
    node.state = 'leaving';
  }

  async recommission(id: number): Promise<void> {
    const node = this.#known(id);
    if (node.state === 'removed') throw refusal('FAILED_PRECONDITION', `node ${id} was removed`);
    node.state = 'active';
  }

  async finalize(): Promise<void> {
    if (!this.hasQuorum || this.reach !== 'All') throw refusal('UNAVAILABLE', 'the catalog has no leader');
    this.onFinalize();
    const members = this.nodes.filter(({ state }) => state !== 'removed');
    this.level = Math.min(...members.map(({ id }) => this.processOf(id)?.levelMax ?? this.level));
  }

  async recover(name: string, node: number): Promise<void> {
    this.onRecover(name);
    const database = this.databases.find((each) => each.name === name);
    if (database === undefined) throw refusal('NOT_FOUND', `there is no database ${name}`);
    if (this.hasMajority(database.replicas)) throw refusal('FAILED_PRECONDITION', `${name} has a quorum`);
    if (!database.replicas.has(node) || !this.isUp(node)) throw refusal('FAILED_PRECONDITION', 'it has no replica');
    database.replicas.clear();
    database.replicas.add(node);
    database.learners.clear();
    database.behind.clear();
    database.leader = undefined;
  }

  /** The code of the loss that a node would be recovered with. */
  codeOf(id: number): string {
    return (16 ** 7 * 10 + id * 256 + this.#refoundings).toString(16);
  }

  /** `cairn recover` on the volume of a stopped node: its exit code and its last line. */
  refound({ node: id = 0 }: Volume, acceptLoss: string | undefined): readonly [code: number, line: string] {
    const own = this.nodes.find((each) => each.id === id && each.state !== 'removed');
    if (own === undefined) return [1, 'cairn recover: it was never part of a cluster, or was removed'];
    if (this.voters.size === 1) {
      return [acceptLoss === undefined ? 1 : 0, 'cairn recover: it is the only voter of its catalog'];
    }
    const code = this.codeOf(id);
    if (acceptLoss !== code) return [1, `cairn recover: nothing was changed. To continue: --accept-loss ${code}`];
    this.onRefound();
    this.#refoundings += 1;
    for (const node of this.nodes) node.state = node === own ? 'active' : 'removed';
    this.voters.clear();
    this.voters.add(id);
    for (const database of this.databases.splice(0)) {
      if (database.replicas.has(id))
        this.databases.push({
          ...database,
          replicas: new Set([id]),
          learners: new Set(),
          behind: new Set(),
          leader: undefined,
        });
    }
    this.#remembered.splice(0, Infinity, this.#describe());
    return [0, ''];
  }

  #known(id: number): Node {
    if (!this.hasQuorum || this.reach !== 'All') throw refusal('UNAVAILABLE', 'the catalog has no leader');
    const node = this.nodes.find((each) => each.id === id);
    if (node === undefined) throw refusal('NOT_FOUND', `there is no node ${id}`);
    return node;
  }

  #answering(id: number): Process {
    this.#known(id);
    const process = this.processOf(id);
    if (process === undefined) throw refusal('UNAVAILABLE', `node ${id} does not answer`);
    return process;
  }
}

export function refusal(code: keyof typeof status, details: string): CallError {
  const fields = { code: status[code], details, metadata: new Metadata() };
  return new CallError(Object.assign(new Error(details), fields), 'model');
}

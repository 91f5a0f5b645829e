/**
 * The way of a node to the others: links, what is said by them, and how stores become nodes. Put together before the
 * core is opened; `begin` joins both.
 */
import { type Address, CATALOG_GROUP, type Random } from '#base';
import { members } from '#raft';
import { type Administered, noting, notingJoins } from '../admin/administered.ts';
import { type AdminReply, type AdminRequest, type AskAdmin, administration } from '../admin/administration.ts';
import type { CoreRuntime } from '../core/core-runtime.ts';
import { FOUNDERS, type NodeIdentity } from '../node.ts';
import type { RegisteredNode } from '../outcome.ts';
import { Announcer } from '../peer/announcer.ts';
import { type AskToJoin, forOwnAndOthers, type JoinReply, type JoinRequest } from '../peer/join.ts';
import type { Peer } from '../peer/links.ts';
import type { PeerObserver } from '../peer/observer.ts';
import { drawNumber, PeerCodec } from '../peer/peer-codec.ts';
import { toStoreId } from '../peer/peer-identity.ts';
import { PeerMail } from '../peer/peer-mail.ts';
import { type Peers, peersOf } from '../peer/peers.ts';
import { nativeCrc32 } from '../system-ports.ts';
import type { LinksOrder } from './core-thread-messages.ts';
import type { OpenPeerLinks, PeerLinksOptions } from './peer-port.ts';

export interface ReachPorts {
  /** Called at most once, and only when this node is to reach others. */
  readonly openLinks: (options: PeerLinksOptions) => Promise<OpenPeerLinks>;
  readonly askToJoin: AskToJoin;
  /** Without it operators are not served. */
  readonly askAdmin?: AskAdmin;
  /** Describes in a sentence how this node and another cluster contradict each other. */
  readonly otherCluster?: () => string | undefined;
  /** Hears what operators have ordered. */
  readonly onAdministered?: (administered: Administered) => void;
  readonly observer: PeerObserver;
  readonly random: Random;
  readonly sleep: (ms: number) => Promise<void>;
  /** Has the next process of this node know that it was removed. */
  readonly noteRemoved: () => Promise<void>;
}

export interface Reach {
  readonly mail: Peers;
  readonly port: number;
  readonly announcer: Announcer;
  /** Answers an admin request that a port of this node has received and audited. Absent without `askAdmin`. */
  readonly administer: ((request: AdminRequest) => Promise<AdminReply>) | undefined;
  /** Hears and dials from now on. */
  begin(core: CoreRuntime): void;
  close(): Promise<void>;
}

export async function openReach(ports: ReachPorts, identity: NodeIdentity, order: LinksOrder): Promise<Reach> {
  const { openLinks, askToJoin, askAdmin, otherCluster, onAdministered, observer, random, sleep, noteRemoved } = ports;
  const { clusterId, node, storeId } = identity;
  const self = { node, store: toStoreId(storeId) };
  const { host, port, advertisedHost, connectionsMax, seeds = [], peers, release = '' } = order;
  const run = drawNumber(random);
  const links = await openLinks({ clusterId, self, run, host, port, advertisedHost, observer, connectionsMax });
  const codec = new PeerCodec({ clusterId, self, crc32: nativeCrc32, random });
  const mail = new PeerMail({ codec, links, observer });
  let core: CoreRuntime | undefined;
  const known = (): readonly Peer[] => peersOf(core?.catalog.nodes.filter(isThere) ?? []);
  const register = async ({ registration, signal }: JoinRequest): Promise<JoinReply> => {
    if (core === undefined) return { kind: 'later', reason: 'the node is starting' };
    const answer = await core.admin.register(registration, registration.storeId === storeId, signal);
    if (answer.kind !== 'registered') return answer;
    const founders = members(FOUNDERS.voters);
    return { kind: 'joined', clusterId, node: answer.node.node, founders, nodes: known() };
  };
  const others = (): readonly Address[] => [
    ...[...known(), ...peers].filter((peer) => peer.node !== node).map(addressOf),
    ...seeds,
  ];
  const answering = forOwnAndOthers(storeId, register);
  const join = async (request: JoinRequest): Promise<JoinReply> => {
    // Stores of the cluster that this one began with are removed here, and may be nodes there.
    const isStranger = request.clusterId !== undefined && request.clusterId !== clusterId;
    // Not `refused`, which would end the process of a member whose seed belongs to another cluster by now (K1).
    return isStranger ? { kind: 'later', reason: `this is the cluster ${clusterId}` } : answering.others(request);
  };
  const isNode = (store: string): boolean => core?.catalog.nodes.some((each) => each.storeId === store) === true;
  links.onJoin(notingJoins(join, isNode, onAdministered ?? unnoted));
  const administer = askAdmin && administration({ core: () => core, ask: askAdmin, otherCluster }, clusterId);
  if (administer !== undefined) links.onAdmin?.(noting(administer, onAdministered ?? unnoted));
  const shown = (): RegisteredNode | undefined =>
    core?.catalog.nodes.find((each) => each.storeId === storeId && isThere(each));
  const announcer = new Announcer({
    clusterId,
    node,
    release,
    run,
    register: answering.own,
    ask: askToJoin,
    shown,
    isLed: () => core?.isLed(CATALOG_GROUP) === true,
    noteRemoved,
    others,
    sleep,
  });
  return {
    mail: {
      send: (to, messages, tables) => mail.send(to, messages, tables),
      forward: (to, items) => mail.forward(to, items),
      sendLetter: (to, letter) => mail.sendLetter(to, letter),
      setPeers: (named) => {
        mail.setPeers(named);
        void announcer.review();
      },
    },
    port: links.port,
    announcer,
    administer,
    begin: (opened) => {
      core = opened;
      mail.open(opened);
      mail.setPeers(opened.catalog.nodes.length > 0 ? known() : peers);
    },
    close: () => mail.close(),
  };
}

function addressOf({ host, port }: Peer): Address {
  return { host, port };
}

function isThere({ state }: RegisteredNode): boolean {
  return state !== 'removed';
}

function unnoted(): void {}

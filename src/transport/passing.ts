/**
 * Requests over HTTP that another node answers: its address, the connections to it, and what passes between it and a
 * client. Which node is asked, and what becomes of one that does not answer, is for the transports to say.
 */
import type {
  AgentOptions,
  ClientRequest,
  Agent as HttpAgent,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import { HolderPulse, type Place } from './holder-pulse.ts';
import { COUNTED } from './rate-limits.ts';
import { type Dial, secureAgent } from './secure.ts';
import { afterSilence } from './silence.ts';

// An import of it would also load what it offers lazily: a client for the web.
const { Agent } = process.getBuiltinModule('node:http');

const DIAL_MS = 1_000;
/** Connections to a node that are kept for the next request. */
const FREE_SOCKETS_MAX = 32;
const KEPT: AgentOptions = { keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX };
const PORTS: ReadonlyMap<string, string> = new Map([
  ['http:', '80'],
  ['https:', '443'],
]);

/** Of one connection, or written anew by each server. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  COUNTED,
  'connection',
  'date',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface OtherNode {
  readonly place: Place;
  readonly pulse: HolderPulse;
}

/** The nodes that were asked, by the URLs that the catalog has of them. */
export class OtherNodes {
  readonly #plain = new Agent(KEPT);
  readonly #secure: HttpAgent;
  readonly #known = new Map<string, OtherNode>();

  constructor(dial: Dial) {
    this.#secure = secureAgent(dial, KEPT);
  }

  /** Undefined: nobody can be asked there. */
  at(address: string): OtherNode | undefined {
    const url = URL.parse(address);
    if (url === null || !PORTS.has(url.protocol)) return undefined;
    const known = this.#known.get(url.origin) ?? this.#newAt(url);
    this.#known.set(url.origin, known);
    return known;
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  #newAt({ protocol, hostname, port }: URL): OtherNode {
    const agent = protocol === 'https:' ? this.#secure : this.#plain;
    // The port of the protocol is none in a URL.
    const place = { agent, host: hostname.replace(/^\[|\]$/g, ''), port: port || (PORTS.get(protocol) ?? '') };
    return { place, pulse: new HolderPulse(place) };
  }
}

/** A request under way. */
export class Sending {
  readonly #outgoing: ClientRequest;
  /** Whether any of it can have arrived. */
  isSent = false;

  constructor(outgoing: ClientRequest) {
    this.#outgoing = outgoing;
    // Whoever waits for the answer sees that none comes.
    outgoing.on('error', () => undefined);
    outgoing.once('socket', (socket) => {
      if (outgoing.reusedSocket) {
        this.isSent = true;
        return;
      }
      const stop = afterSilence(DIAL_MS, () => outgoing.destroy());
      // Before the handshake is over nothing is sent.
      const open = 'encrypted' in socket ? 'secureConnect' : 'connect';
      socket.once(open, () => {
        this.isSent = true;
      });
      for (const event of [open, 'close']) socket.once(event, stop);
    });
  }

  /** Undefined: none comes. */
  async answer(withinMs: number): Promise<IncomingMessage | undefined> {
    const tooSlow = setTimeout(() => this.#outgoing.destroy(), withinMs);
    const answer = await new Promise<IncomingMessage | undefined>((resolve) => {
      this.#outgoing.once('response', resolve).once('close', () => resolve(undefined));
    });
    clearTimeout(tooSlow);
    return answer;
  }
}

/** Whether a header concerns a connection, or is for each server to write: such are not passed on. */
export function isOfConnection(name: string): boolean {
  return OWN_HEADERS.has(name);
}

/** Those of a client that another node gets as they are. */
export function passedHeaders({ headers, headersDistinct }: IncomingMessage): OutgoingHttpHeaders {
  const passed: OutgoingHttpHeaders = {};
  const named = headers.connection?.toLowerCase().split(',') ?? [];
  const ofConnection = new Set(named.map((name) => name.trim()));
  for (const [name, values] of Object.entries(headersDistinct)) {
    if (!isOfConnection(name) && !ofConnection.has(name)) passed[name] = values?.length === 1 ? values[0] : values;
  }
  return passed;
}

/** Resolves when the client has the whole answer, or one of the two has gone: then the other is told so. */
export async function faultInPassing(
  answer: IncomingMessage,
  client: ServerResponse,
): Promise<'broken' | 'abandoned' | undefined> {
  let isBroken = false;
  answer.once('close', () => {
    if (answer.complete || client.destroyed) return;
    isBroken = true;
    client.destroy();
  });
  answer.pipe(client);
  await new Promise((resolve) => client.once('close', resolve));
  answer.destroy();
  if (isBroken) return 'broken';
  return client.writableFinished ? undefined : 'abandoned';
}

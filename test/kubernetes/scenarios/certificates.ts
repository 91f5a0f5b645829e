/**
 * Certificates of a cluster in two Secrets, one for the ports of clients and one for the port between nodes, each with
 * its own authority. All pods share them.
 */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, setDefaultCACertificates } from 'node:tls';
import { Authority, type Issued } from '../../support/certificates.ts';
import { eventually } from '../cluster.ts';
import { feed } from '../run.ts';
import { DOMAIN, POD_HOSTS } from './install.ts';

/** One authority for each Secret. */
export type Authorities = Readonly<Record<Kind, Authority>>;

type Kind = 'clients' | 'peers';
type Port = readonly [port: number, protocol: string];

const KINDS: readonly Kind[] = ['clients', 'peers'];
const SECRETS: Readonly<Record<Kind, string>> = { clients: 'our-certificate', peers: 'our-peers' };
/** Ports that present each kind of certificate. */
const PORTS: Readonly<Record<Kind, readonly Port[]>> = {
  clients: [
    [50_051, 'h2'],
    [3000, 'http/1.1'],
    [9464, 'http/1.1'],
  ],
  peers: [[50_052, 'h2']],
};
const NAMES: readonly string[] = [`DNS:*.cairn-headless.${DOMAIN}`, `DNS:cairn.${DOMAIN}`];
const CONNECT_MS = 5000;

/** Values of the chart that name the Secrets. */
export const CERTIFICATE_VALUES: readonly string[] = [
  `tls.security=tlsSecret,tls.existingSecret=${SECRETS.clients}`,
  `peer.security=tlsSecret,peer.existingSecret=${SECRETS.peers}`,
];

/** Creates authorities with different names: two with the same name would be taken for one. */
export function newAuthorities(name: string): Authorities {
  return { clients: new Authority(`${name} of clients`), peers: new Authority(`${name} of nodes`) };
}

export class Certificates {
  #signers = newAuthorities('the first authority');
  #trusted: readonly Authorities[] = [this.#signers];
  #issued: Readonly<Partial<Record<Kind, Issued>>> = {};

  get signers(): Authorities {
    return this.#signers;
  }

  /** Issues new certificates and puts them into the Secrets, with the authorities that all sides trust from now on. */
  async put(signers: Authorities = this.#signers, trusted: readonly Authorities[] = [signers]): Promise<void> {
    this.#signers = signers;
    this.#trusted = trusted;
    // The clients run in this process.
    setDefaultCACertificates(trusted.map(({ clients }) => clients.cert));
    for (const kind of KINDS) {
      const issued = signers[kind].issue({ cn: SECRETS[kind], names: NAMES });
      this.#issued = { ...this.#issued, [kind]: issued };
      const texts = { 'tls.crt': issued.cert, 'tls.key': issued.key, 'ca.crt': this.#authoritiesOf(kind) };
      const data = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRETS[kind] } };
      const text = JSON.stringify({ ...secret, data: Object.fromEntries(data) });
      await feed(text, 'kubectl', 'apply', '--server-side', '-f', '-');
    }
  }

  /** Waits until every pod shows the last certificates to new connections, at all of its ports. */
  async untilShown(): Promise<void> {
    await eventually('all pods to show the certificates', async () => {
      const ports = KINDS.flatMap((kind) => PORTS[kind].map((port) => ({ kind, port })));
      const shown = POD_HOSTS.flatMap((host) => ports.map(({ kind, port }) => this.#isShown(kind, host, port)));
      return (await Promise.all(shown)).every(Boolean);
    });
  }

  /**
   * True when the port shows the last certificate. @throws Error when no authority has issued the shown one, or it has
   * another name.
   */
  async #isShown(kind: Kind, host: string, [port, protocol]: Port): Promise<boolean> {
    const issued = this.#issued[kind];
    if (issued === undefined) return false;
    const verified = { ca: this.#authoritiesOf(kind), ...issued, servername: host, ALPNProtocols: [protocol] };
    const socket = connect({ host, port, ...verified });
    try {
      await once(socket, 'secureConnect', { signal: AbortSignal.timeout(CONNECT_MS) });
      const { serialNumber } = socket.getPeerX509Certificate() ?? {};
      return serialNumber === new X509Certificate(issued.cert).serialNumber;
    } finally {
      socket.on('error', () => undefined).destroy();
    }
  }

  #authoritiesOf(kind: Kind): string {
    return this.#trusted.map((each) => each[kind].cert).join('');
  }
}

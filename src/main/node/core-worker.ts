/**
 * Entry point of the core thread. It is composed here because #cluster does not know the transport between nodes. The
 * transport is loaded only when there are other nodes.
 */
import { MessagePort, workerData } from 'node:worker_threads';
import { runCore } from '#cluster';
import type { PeerTls, PeerTlsMaterial } from '#transport/peer';
import { collectUnderPressure } from '../process/memory-limit.ts';
import type { CoreTls } from '../tls/peer-tls.ts';

collectUnderPressure();

const given: unknown = workerData;
/** Undefined without TLS between nodes. */
const securing = isCoreTls(given) ? secured(given) : undefined;

function isCoreTls(data: unknown): data is CoreTls {
  return typeof data === 'object' && data !== null && 'replaced' in data && data.replaced instanceof MessagePort;
}

async function secured({ mode, material, replaced }: CoreTls): Promise<PeerTls> {
  const transport = await import('#transport/peer');
  const tls = new transport.PeerTls(material, mode);
  replaced.on('message', (found: PeerTlsMaterial) => tls.use(found)).unref();
  return tls;
}

runCore({
  openPort: async (options, logger) => {
    const { openPeerPort } = await import('#transport/peer');
    return openPeerPort({ ...options, logger, tls: await securing });
  },
  askToJoin: async (...question) => {
    const { askToJoin } = await import('#transport/peer');
    return askToJoin(...question, await securing);
  },
  askAdmin: async (...question) => {
    const { askAdmin } = await import('#transport/peer');
    return askAdmin(...question, await securing);
  },
  askBelonging: async (...question) => {
    const { askBelonging } = await import('#transport/peer');
    return askBelonging(...question, await securing);
  },
});

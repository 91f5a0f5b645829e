// Goal: each probe fails for what it is for, and for nothing that spreads from one node to the others. Method: the
// probes of a node in each state that it passes through, with its health set by hand.
import { describe, expect, it } from 'vitest';
import type { NodeHealth } from '#cluster';
import { PROBE_PATHS, probeReply } from '#observability';
import { NodeProbes } from '../../../../src/main/node/probes.ts';
import { WELL } from '../../../support/well-node.ts';

function failing(probed: NodeProbes): readonly string[] {
  const lines = PROBE_PATHS.flatMap((path) =>
    probeReply(probed.checks, path, false)
      .body.split('\n')
      .filter((line) => line.startsWith('[-]'))
      .map((line) => `${path} ${line.slice(3)}`),
  );
  return lines;
}

function started(health: Partial<NodeHealth> = {}, certificateFault?: string): NodeProbes {
  const probed = new NodeProbes([undefined, { certificateFault }]);
  probed.hasOpened = true;
  probed.node = { health: () => ({ ...WELL, ...health }) };
  probed.listens = true;
  return probed;
}

describe('a node', () => {
  it('passes startup when its store is open, its log recovered and its servers listen, one after the other', () => {
    const probed = new NodeProbes([]);
    const startup = (): readonly string[] => failing(probed).filter((line) => line.startsWith('/startupz'));
    const store = '/startupz store failed: it opens its data directory';
    const log = '/startupz log failed: it recovers its log';
    const listeners = '/startupz listeners failed: its servers do not listen yet';
    expect(startup()).toEqual([store, log, listeners]);
    probed.hasOpened = true;
    expect(startup()).toEqual([log, listeners]);
    probed.node = { health: () => WELL };
    expect(startup()).toEqual([listeners]);
    expect(failing(probed)).toContain('/readyz started failed: it is starting');
    probed.listens = true;
    expect(failing(probed)).toEqual([]);
  });

  it('is alive and started, and not ready, while it waits for a cluster', () => {
    const probed = new NodeProbes([]);
    probed.waitsFor = 'it waits for n2';
    expect(failing(probed)).toEqual([
      '/readyz started failed: it is starting',
      '/readyz cluster failed: it waits for n2',
    ]);
    probed.waitsFor = undefined;
    expect(failing(probed)).toContain('/startupz store failed: it opens its data directory');
  });

  it.each<readonly [string, Partial<NodeHealth>, readonly string[]]>([
    ['lags', { hasCaughtUp: false }, ['/readyz caught-up failed: it lacks what others wrote while it was away']],
    ['drains', { accepting: false, isDraining: true }, ['/readyz draining failed: it takes no new clients']],
    [
      'is in another cluster than its peers',
      { accepting: false, otherCluster: 'This node belongs to the cluster A' },
      ['/readyz cluster failed: This node belongs to the cluster A'],
    ],
    ['is refused by peers', { refusedBy: 'node 2: other secret' }, ['/readyz cluster failed: node 2: other secret']],
    ['has a silent core', { coreSilentMs: 61_000 }, ['/livez core failed: its thread has said nothing for 61000 ms']],
    ['has a core that is slow', { coreSilentMs: 30_000 }, []],
    ['does not reach the leader of the catalog', { knowsCatalog: false }, []],
    ['has a full disk, which it reads', { disk: 'read-only' }, []],
    ['has a clock that is not to be believed', { isClockFar: true }, []],
    ['has a replica with another history', { hasDiverged: true }, []],
  ])('fails what it should, and nothing else, when it %s', (_case, health, faults) => {
    expect(failing(started(health))).toEqual(faults);
  });

  it('is not ready while it drains, or when its certificate has expired', () => {
    const probed = started({}, 'the certificate of tls-cert-file has expired');
    expect(failing(probed)).toEqual(['/readyz certificates failed: the certificate of tls-cert-file has expired']);
    probed.drains = true;
    expect(failing(probed)).toContain('/readyz draining failed: it takes no new clients');
  });
});

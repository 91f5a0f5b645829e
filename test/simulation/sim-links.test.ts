/** A process whose machine has lost its power is found gone by whoever is connected to it, though nothing is sent. */
import { expect, it } from 'vitest';
import { toNodeId } from '#base';
import type { Peer, PeerLinksOptions } from '#cluster';
import { Isolate } from './engine/isolate.ts';
import { Simulator } from './engine/simulator.ts';
import { PeerExchange } from './peers/exchange.ts';
import { PEER_PORT, SimLinks } from './peers/sim-links.ts';

const SECOND_US = 1_000_000;
/** Longer than a sign of life is waited for. */
const FOUND_US = 4 * SECOND_US;

class Stage {
  readonly simulator = new Simulator(1);
  readonly exchange = new PeerExchange(this.simulator);
  readonly heard: string[] = [];
  readonly first: SimLinks = this.begin(1);

  constructor() {
    const peer = { node: toNodeId(2), host: 'node-2', port: PEER_PORT, store: 'store-2' as Peer['store'] };
    this.first.onReachable((node) => this.heard.push(`reaches ${node}`));
    this.first.onUnreachable((node) => this.heard.push(`has lost ${node}`));
    this.first.setPeers([peer]);
  }

  begin(number: number): SimLinks {
    const host = `node-${number}`;
    const thread = new Isolate(this.simulator, host, this.simulator.random(host), () => undefined);
    const self = { node: toNodeId(number), store: `store-${number}` };
    const options = { clusterId: 'cluster', self, host } as unknown as PeerLinksOptions;
    return new SimLinks({ exchange: this.exchange, thread, options, onDeceived: () => undefined });
  }

  async pass(us: number): Promise<void> {
    await this.simulator.runUntil(() => false, this.simulator.nowUs + us);
  }
}

it('a process that is gone with its machine is found gone in a few seconds, without a word to it', async () => {
  const stage = new Stage();
  const second = stage.begin(2);
  await stage.pass(FOUND_US);
  expect(stage.heard).toEqual(['reaches 2']);
  second.end(true);
  await stage.pass(SECOND_US);
  expect(stage.heard).toEqual(['reaches 2']);
  await stage.pass(FOUND_US);
  expect(stage.heard).toEqual(['reaches 2', 'has lost 2']);
  stage.begin(2);
  await stage.pass(FOUND_US);
  expect(stage.heard).toEqual(['reaches 2', 'has lost 2', 'reaches 2']);
});

it('a process that says that it ends is lost at once, and the next one there is not', async () => {
  const stage = new Stage();
  const second = stage.begin(2);
  await stage.pass(FOUND_US);
  second.end(false);
  await stage.pass(SECOND_US / 20);
  expect(stage.heard).toEqual(['reaches 2', 'has lost 2']);
  stage.begin(2);
  await stage.pass(2 * FOUND_US);
  expect(stage.heard).toEqual(['reaches 2', 'has lost 2', 'reaches 2']);
});

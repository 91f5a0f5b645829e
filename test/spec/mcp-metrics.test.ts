// Metrics of MCP count sessions and requests by method, and a client cannot create new series.
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startHttpNode } from '../support/http-node.ts';
import { begun, LIST, READY, send } from '../support/mcp-requests.ts';

const { server } = await startHttpNode();

async function shown(): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(server.metrics)).text();
  const series = /^(cairn_mcp_(?:sessions\w*|requests_total)(?:\{.*?\})?) (\d+)$/gm;
  return Object.fromEntries([...text.matchAll(series)].map(([, name = '', value]) => [name, Number(value)]));
}

const requests = (method: string): string => `cairn_mcp_requests_total{method="${method}"}`;

it('requests over MCP are counted by method, and sessions by how they end', async () => {
  const before = await shown();
  expect(new Set(Object.values(before))).toEqual(new Set([0]));
  const [session] = [await begun(server.mcp), await begun(server.mcp)];
  await send(server.mcp, READY, session);
  await send(server.mcp, [LIST, { ...LIST, id: 3 }], session);
  for (const method of ['tools/steal', 'x'.repeat(9_000), '__proto__', 'constructor']) {
    await send(server.mcp, { jsonrpc: '2.0', id: 4, method }, session);
  }
  await send(server.mcp, { jsonrpc: '2.0', id: 5, result: {} }, session);
  await fetch(server.mcp, { method: 'DELETE', headers: session });
  await eventually(async () => {
    expect(await shown()).toEqual({
      ...before,
      cairn_mcp_sessions: 1,
      cairn_mcp_sessions_begun_total: 2,
      'cairn_mcp_sessions_ended_total{reason="deleted"}': 1,
      [requests('initialize')]: 2,
      [requests('notifications/initialized')]: 1,
      [requests('tools/list')]: 2,
      [requests('other')]: 4,
    });
  });
});

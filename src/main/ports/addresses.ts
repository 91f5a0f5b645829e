/** Addresses and URLs of the servers of a node, by their settings and the ports that were bound. */
import { hostname } from 'node:os';
import { formatAddress } from '#base';
import type { Config } from '../settings/settings.ts';

const AUTO = 'auto';
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Host that other nodes and clients use for this node. */
export function advertisedHost({ advertiseHost, host }: Config): string {
  if (advertiseHost !== AUTO) return advertiseHost;
  return EVERY_ADDRESS.has(host) ? hostname() : host;
}

export function metricsHost({ host, metricsHost: own }: Config): string {
  return own === AUTO ? host : own;
}

/** URL that Prometheus scrapes. */
export function scrapeUrl(config: Config, port: number): string {
  return `${schemeOf(config)}://${formatAddress({ host: metricsHost(config), port })}/metrics`;
}

/** URL at which this process itself reaches a listening address. */
export function reached(config: Config, address: string): string {
  const { host } = config;
  const own = host === '::' ? '::1' : host === '0.0.0.0' ? '127.0.0.1' : host;
  return `${schemeOf(config)}://${formatAddress({ host: own, port: portOf(address) })}`;
}

/** Address at which other nodes and clients reach a listening address. */
export function advertised(config: Config, address: string): string {
  return formatAddress({ host: advertisedHost(config), port: portOf(address) });
}

export function urlAt(config: Config, address: string): string {
  return `${schemeOf(config)}://${advertised(config, address)}`;
}

export function portOf(address: string): number {
  return Number(new URL(address.includes('://') ? address : `http://${address}`).port);
}

function schemeOf({ tlsCertFile }: Config): 'http' | 'https' {
  return tlsCertFile === 'none' ? 'http' : 'https';
}

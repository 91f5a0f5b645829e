/**
 * The name server of the cluster: A records of Services, and of pods behind headless Services. It knows no other names
 * and forwards no request.
 */
import dgram from 'node:dgram';
import { once } from 'node:events';
import { HOST } from '../world.ts';
import { endpointsOf, type Services } from './services.ts';

/** Matches HOSTNAME.SERVICE.NAMESPACE.svc.cluster.local, also without HOSTNAME. */
const NAME = /^(?:([^.]+)\.)?([^.]+)\.([^.]+)\.svc\.cluster\.local$/;
const HEADER_BYTES = 12;
const TYPE_A = 1;
const TTL_SECONDS = 1;
/** Flags of an authoritative answer: without an error, or with the error that the name does not exist. */
const FOUND = 0x8580;
const NO_NAME = 0x8583;

/** Serves names at port 53 of the machine. */
export async function serveNames(cluster: Services): Promise<void> {
  const socket = dgram.createSocket('udp4');
  socket.on('message', (query, from) => socket.send(answer(query, cluster), from.port, from.address));
  socket.bind(53, HOST);
  await once(socket, 'listening');
}

/** The addresses of a name; undefined when the name does not exist. */
function resolveName(name: string, cluster: Services): readonly string[] | undefined {
  const [, hostname, serviceName, namespace] = NAME.exec(name.toLowerCase()) ?? [];
  const service = cluster.services.get(`${namespace}/${serviceName}`);
  if (service === undefined) return undefined;
  const { clusterIP = 'None' } = service.spec;
  if (clusterIP !== 'None' && hostname === undefined) return [clusterIP];
  const all = endpointsOf(service, cluster);
  const endpoints = all.filter((endpoint) => hostname === undefined || endpoint.hostname === hostname);
  if (hostname !== undefined && endpoints.length === 0) return undefined;
  return [...new Set(endpoints.map(({ address }) => address))];
}

function answer(query: Buffer, cluster: Services): Buffer {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  const found = resolveName(labels.join('.'), cluster);
  const addresses = query.readUInt16BE(at + 1) === TYPE_A ? (found ?? []) : [];
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(found === undefined ? NO_NAME : FOUND, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, at + 5), ...addresses.map(record)]);
}

/** An A record with the name of the question. */
function record(address: string): Buffer {
  const bytes = [0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, TTL_SECONDS, 0, 4];
  return Buffer.from([...bytes, ...address.split('.').map(Number)]);
}

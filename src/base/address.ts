/** An address of a server: a host and a port, as text `host:port`, an IPv6 address in brackets. */

export interface Address {
  readonly host: string;
  readonly port: number;
}

const PORT_MAX = 65_535;
/** A name that ends with digits alone is meant to be an IPv4 address; resolvers interpret it only so. */
const NUMBERS = /(?:^|\.)\d+\.?$/;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
const ADDRESS = /^(?:\[([\da-f:.]{2,45})\]|([\w.-]{1,255})):(\d{1,5})$/i;

export function formatAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Tells whether this can be the host of an address: an IP address without brackets, or a name. */
export function isHost(text: string): boolean {
  return parseAddress(formatAddress({ host: text, port: PORT_MAX })) !== undefined;
}

/** Undefined for any other text; a port is 1 to 65535. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain, digits] = ADDRESS.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (plain !== undefined && NUMBERS.test(plain) && !IPV4.test(plain)) return undefined;
  return host !== undefined && port >= 1 && port <= PORT_MAX ? { host, port } : undefined;
}

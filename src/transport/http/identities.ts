/**
 * Headers that identify a client: caches must not give its replies to others (SPEC-HTTP-R6). They count also when
 * authentication is off (ADR 0130), because a proxy before this node may authenticate.
 */

export interface Privacy {
  readonly isRequired: boolean;
  /** Headers that identify the client to the server; undefined: it does not know all of them. */
  readonly inputs: readonly string[] | undefined;
}

/** Headers of credentials that clients send themselves. */
export const CREDENTIALS = ['Authorization', 'Cookie', 'X-API-Key'] as const;

/** Prefixes of headers that authenticating load balancers, gateways and proxies set. */
const BEGINNINGS = [
  // OAuth2 Proxy, and forwarded authentication of Traefik and nginx
  'x-forwarded-(?:user|email|groups|preferred-username|access-token)',
  'x-auth-request-',
  // Authelia, Apache, the front proxy of Kubernetes, Grafana's, and what is set by hand
  'remote-(?:user|groups|name|email)',
  'x-remote-(?:user|group|extra-)',
  'x-webauth-',
  // Certificates of clients: RFC 9440, Envoy, Traefik, nginx and HAProxy, ingress-nginx
  'client-cert',
  'x-(?:forwarded-(?:tls-)?)?client-cert',
  '(?:x-)?ssl-client-',
  // AWS Application Load Balancer
  'x-amzn-(?:oidc|mtls)-',
  // Google: Identity-Aware Proxy, and its gateways of APIs
  'x-goog-(?:authenticated-user|iap)-',
  'x-(?:endpoint-api|apigateway-api)-userinfo',
  // Azure: App Service, Container Apps, and the certificates that they forward
  'x-ms-(?:client-principal|token-)',
  'x-arr-clientcert',
  // Cloudflare: Access, and certificates of clients; Akamai
  'cf-(?:access|cert|client-cert)-',
  'client-to-edge',
  // Kong
  'x-(?:consumer|credential|authenticated)-',
  'x-(?:authentik|pomerium|vouch)-',
  'tailscale-user-',
];
const IDENTITY = new RegExp(`^(?:${BEGINNINGS.join('|')})`);

export function isIdentity(name: string): boolean {
  return IDENTITY.test(name);
}

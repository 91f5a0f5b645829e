/**
 * Headers that identify a caller: an answer to one is not for others (SPEC-HTTP-R6). With authentication off they are
 * not evaluated (ADR 0130), but a cache in front of this node must still not give others an answer that a proxy allowed
 * one caller to read.
 */

/** What clients send themselves. */
export const CREDENTIALS = ['Authorization', 'Cookie', 'X-API-Key'] as const;

/** How headers begin by which load balancers, gateways and proxies that authenticate say whom they have let in. */
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

/** Whether a name, in lower case, is one of those. */
export function isIdentity(name: string): boolean {
  return IDENTITY.test(name);
}

/** Network settings of a cluster: Services, routes, addresses for clients, and network policies. */
import { annotations, LABEL_SELECTOR, objectName } from './fragments.ts';
import * as f from './schema.ts';

const DOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const HOST_NAME = '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer'];

export function hostNames(doc: string): f.Field {
  const name = f.text('A DNS name; *. in front stands for one label.', 253, { min: 1, pattern: HOST_NAME });
  return f.list(doc, name, 32, { merge: 'set' });
}

const SERVICE: f.Shape = f.shape('ClientService', {
  type: f.choice('The type of the Service.', SERVICE_TYPES, { default: 'ClusterIP' }),
  'annotations?': annotations('Annotations of the Service, such as those that a load balancer reads.'),
  'loadBalancerClass?': f.text('Class of the load balancer.', 317, { min: 1 }),
  'externalTrafficPolicy?': f.choice(
    'Local: the load balancer keeps the address of the client, and sends traffic only to Kubernetes nodes with a pod.',
    ['Cluster', 'Local'],
  ),
  'loadBalancerSourceRanges?': f.list(
    'The ranges of addresses that the load balancer accepts clients from.',
    f.text('A range, such as 10.0.0.0/8.', 50, { min: 1 }),
    64,
    { merge: 'set' },
  ),
});

const EXTERNAL: f.Shape = f.shape('ExternalAccess', {
  domain: f.text(
    'The domain in which each pod has a name outside: NAME-0.events.example.com is in events.example.com. Clients that connect by a name in this domain receive the address of a leader in this domain. The names are in the certificate, unless tls.secretName gives one. A change restarts the pods.',
    190,
    { min: 1, pattern: DOMAIN },
  ),
  type: f.choice('The type of the Service of each pod.', SERVICE_TYPES, { default: 'LoadBalancer' }),
  'port?': f.wholeNumber('The port of gRPC there; without it 50051. Behind a Gateway it is usually 443.', 1, 65_535),
  'annotations?': annotations('Annotations of the Service of each pod.'),
});

const PARENT_REF: f.Shape = f.shape('GatewayRef', {
  name: objectName('The name of the Gateway.'),
  'namespace?': f.text('Its namespace; without it that of the cluster.', 63, { min: 1 }),
  'sectionName?': f.text('The listener of the Gateway; without it all that fit.', 253, { min: 1 }),
});

const INGRESS: f.Shape = f.shape(
  'IngressRoutes',
  {
    'className?': f.text('Class of the Ingress; by default that of the Kubernetes cluster.', 253, { min: 1 }),
    'hostnames?': hostNames('Host names of the HTTP API.'),
    'mcpHostnames?': hostNames('Host names of the MCP endpoint. With an identity provider set config.mcpUrl, too.'),
    'tlsSecretName?': objectName('A Secret with a certificate for all of these names; without it no TLS there.'),
    'annotations?': annotations('Annotations for the controller. With TLS at the nodes, one of them must say HTTPS.'),
  },
  [f.atLeastOne('hostnames', 'mcpHostnames')],
);

const GATEWAY: f.Shape = f.shape(
  'GatewayRoutes',
  {
    parentRefs: f.list('The Gateways that the routes belong to.', f.object('A Gateway.', PARENT_REF), 16, { min: 1 }),
    'grpcHostnames?': hostNames('Host names of a GRPCRoute to all nodes; without them there is no such route.'),
    'httpHostnames?': hostNames('Host names of an HTTPRoute to all nodes; without them there is no such route.'),
    'mcpPath?': f.text('The path of the MCP endpoint in the HTTPRoute, such as /mcp; without it there is none.', 256, {
      min: 2,
      pattern: '^/[A-Za-z0-9/_.~-]*[A-Za-z0-9_.~-]$',
    }),
    passthrough: f.flag(
      'true: each pod has a TLSRoute for its name in network.external.domain, and TLS ends at the pod.',
      { default: false },
    ),
  },
  [
    {
      rule: 'has(self.grpcHostnames) || has(self.httpHostnames) || self.passthrough',
      message: 'set grpcHostnames, httpHostnames or passthrough: a Gateway without a route does nothing',
    },
    {
      rule: '!has(self.mcpPath) || has(self.httpHostnames)',
      message: 'mcpPath needs httpHostnames: set them, or remove mcpPath',
    },
  ],
);

const ADDRESS_BLOCK: f.Shape = f.shapeOfKubernetes('AddressBlock', {
  cidr: f.text('A range of addresses, such as 10.0.0.0/8.', 50, { min: 1 }),
  'except?': f.list('Ranges inside it that are left out.', f.text('A range.', 50, { min: 1 }), 64),
});

const POLICY_PEER: f.Shape = f.shapeOfKubernetes('NetworkPeer', {
  'podSelector?': f.object('Pods by their labels.', LABEL_SELECTOR),
  'namespaceSelector?': f.object(
    'Namespaces by their labels; without it the namespace of the cluster.',
    LABEL_SELECTOR,
  ),
  'ipBlock?': f.object('Addresses.', ADDRESS_BLOCK),
});

const POLICY: f.Shape = f.shape('NetworkAccess', {
  enabled: f.flag('true: there is a NetworkPolicy, and the peer port is open to the pods of this cluster only.', {
    default: true,
  }),
  'clients?': f.list(
    'Sources from which clients may connect to gRPC, HTTP and MCP. By default all.',
    f.object('Pods, namespaces or addresses, as in a NetworkPolicy.', POLICY_PEER),
    64,
  ),
  'metrics?': f.list(
    'Sources from which metrics may be read. By default the namespace monitoring.',
    f.object('Pods, namespaces or addresses, as in a NetworkPolicy.', POLICY_PEER),
    64,
  ),
});

export const NETWORK: f.Shape = f.shape(
  'Network',
  {
    service: f.object(
      'Service for clients. Any node answers, and forwards requests for databases that another node leads.',
      SERVICE,
      { default: {} },
    ),
    'external?': f.object(
      'A Service and a name for each pod, so that clients outside reach the leader of a database.',
      EXTERNAL,
    ),
    'gateway?': f.object('Routes of the Gateway API.', GATEWAY),
    'ingress?': f.object(
      'An Ingress to HTTP and MCP, where there is no Gateway. gRPC needs a Gateway or a Service.',
      INGRESS,
    ),
    policy: f.object('Access to the pods. It needs a network that enforces NetworkPolicies.', POLICY, { default: {} }),
    mcp: f.flag('true: the nodes serve the Model Context Protocol.', { default: true }),
    ipFamily: f.choice(
      'Family of the addresses that nodes listen on. With IPv6 nodes accept IPv4, too, where pods have both.',
      ['IPv4', 'IPv6'],
      { default: 'IPv4' },
    ),
    clusterDomain: f.text('The DNS domain of the Kubernetes cluster. It cannot be changed.', 190, {
      min: 1,
      pattern: DOMAIN,
      default: 'cluster.local',
      rules: [{ rule: 'self == oldSelf', message: 'clusterDomain cannot be changed later: set what it was' }],
    }),
  },
  [
    {
      rule: '!has(self.gateway) || !self.gateway.passthrough || has(self.external)',
      message: 'gateway.passthrough needs a name for each pod: set external.domain',
    },
    {
      rule: '!has(self.gateway) || !has(self.gateway.mcpPath) || self.mcp',
      message: 'gateway.mcpPath needs mcp: set mcp to true, or remove gateway.mcpPath',
    },
    {
      rule: '!has(self.ingress) || !has(self.ingress.mcpHostnames) || self.mcp',
      message: 'ingress.mcpHostnames needs mcp: set mcp to true, or remove ingress.mcpHostnames',
    },
  ],
);

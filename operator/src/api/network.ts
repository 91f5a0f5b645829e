/** Network settings of a cluster: Services, routes, addresses for clients, and network policies. */
import { annotations, LABEL_SELECTOR, objectName } from './fragments.ts';
import {
  atLeastOne,
  choice,
  type Field,
  flag,
  list,
  object,
  optional,
  type Shape,
  shape,
  shapeOfKubernetes,
  text,
  wholeNumber,
} from './schema.ts';

const DOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const HOST_NAME = '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer'];

export function hostNames(doc: string): Field {
  const name = text('A DNS name; *. in front stands for one label.', 253, { min: 1, pattern: HOST_NAME });
  return optional(list(doc, name, 32, { merge: 'set' }));
}

const SERVICE: Shape = shape('ClientService', {
  type: choice('The type of the Service.', SERVICE_TYPES, { default: 'ClusterIP' }),
  annotations: annotations('Annotations of the Service, such as those that a load balancer reads.'),
  loadBalancerClass: optional(text('Class of the load balancer.', 317, { min: 1 })),
  externalTrafficPolicy: optional(
    choice(
      'Local: the load balancer keeps the address of the client, and sends traffic only to Kubernetes nodes with a pod.',
      ['Cluster', 'Local'],
    ),
  ),
  loadBalancerSourceRanges: optional(
    list(
      'The ranges of addresses that the load balancer accepts clients from.',
      text('A range, such as 10.0.0.0/8.', 50, { min: 1 }),
      64,
      { merge: 'set' },
    ),
  ),
});

const EXTERNAL: Shape = shape('ExternalAccess', {
  domain: text(
    'The domain in which each pod has a name outside: NAME-0.events.example.com is in events.example.com. Clients that connect by a name in this domain receive the address of a leader in this domain. The names are in the certificate, unless tls.secretName gives one. A change restarts the pods.',
    190,
    { min: 1, pattern: DOMAIN },
  ),
  type: choice('The type of the Service of each pod.', SERVICE_TYPES, { default: 'LoadBalancer' }),
  port: optional(
    wholeNumber('The port of gRPC there; without it 50051. Behind a Gateway it is usually 443.', 1, 65_535),
  ),
  annotations: annotations('Annotations of the Service of each pod.'),
});

const PARENT_REF: Shape = shape('GatewayRef', {
  name: objectName('The name of the Gateway.'),
  namespace: optional(text('Its namespace; without it that of the cluster.', 63, { min: 1 })),
  sectionName: optional(text('The listener of the Gateway; without it all that fit.', 253, { min: 1 })),
});

const INGRESS: Shape = shape(
  'IngressRoutes',
  {
    className: optional(text('Class of the Ingress; by default that of the Kubernetes cluster.', 253, { min: 1 })),
    hostnames: hostNames('Host names of the HTTP API.'),
    mcpHostnames: hostNames('Host names of the MCP endpoint. With an identity provider set config.mcpUrl, too.'),
    tlsSecretName: optional(objectName('A Secret with a certificate for all of these names; without it no TLS there.')),
    annotations: annotations('Annotations for the controller. With TLS at the nodes, one of them must say HTTPS.'),
  },
  [atLeastOne('hostnames', 'mcpHostnames')],
);

const GATEWAY: Shape = shape(
  'GatewayRoutes',
  {
    parentRefs: list('The Gateways that the routes belong to.', object('A Gateway.', PARENT_REF), 16, { min: 1 }),
    grpcHostnames: hostNames('Host names of a GRPCRoute to all nodes; without them there is no such route.'),
    httpHostnames: hostNames('Host names of an HTTPRoute to all nodes; without them there is no such route.'),
    mcpPath: optional(
      text('The path of the MCP endpoint in the HTTPRoute, such as /mcp; without it there is none.', 256, {
        min: 2,
        pattern: '^/[A-Za-z0-9/_.~-]*[A-Za-z0-9_.~-]$',
      }),
    ),
    passthrough: flag(
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
      message: 'mcpPath is a path of the HTTPRoute: set httpHostnames',
    },
  ],
);

const ADDRESS_BLOCK: Shape = shapeOfKubernetes('AddressBlock', {
  cidr: text('A range of addresses, such as 10.0.0.0/8.', 50, { min: 1 }),
  except: optional(list('Ranges inside it that are left out.', text('A range.', 50, { min: 1 }), 64)),
});

const POLICY_PEER: Shape = shapeOfKubernetes('NetworkPeer', {
  podSelector: optional(object('Pods by their labels.', LABEL_SELECTOR)),
  namespaceSelector: optional(
    object('Namespaces by their labels; without it the namespace of the cluster.', LABEL_SELECTOR),
  ),
  ipBlock: optional(object('Addresses.', ADDRESS_BLOCK)),
});

const POLICY: Shape = shape('NetworkAccess', {
  enabled: flag('true: there is a NetworkPolicy, and the peer port is open to the pods of this cluster only.', {
    default: true,
  }),
  clients: optional(
    list(
      'Sources from which clients may connect to gRPC, HTTP and MCP. By default all.',
      object('Pods, namespaces or addresses, as in a NetworkPolicy.', POLICY_PEER),
      64,
    ),
  ),
  metrics: optional(
    list(
      'Sources from which metrics may be read. By default the namespace monitoring.',
      object('Pods, namespaces or addresses, as in a NetworkPolicy.', POLICY_PEER),
      64,
    ),
  ),
});

export const NETWORK: Shape = shape(
  'Network',
  {
    service: object(
      'Service for clients. Any node answers, and forwards requests for databases that another node leads.',
      SERVICE,
      {
        default: {},
      },
    ),
    external: optional(
      object('A Service and a name for each pod, so that clients outside reach the leader of a database.', EXTERNAL),
    ),
    gateway: optional(object('Routes of the Gateway API.', GATEWAY)),
    ingress: optional(
      object('An Ingress to HTTP and MCP, where there is no Gateway. gRPC needs a Gateway or a Service.', INGRESS),
    ),
    policy: object('Access to the pods. It needs a network that enforces NetworkPolicies.', POLICY, { default: {} }),
    mcp: flag('true: the nodes serve the Model Context Protocol.', { default: true }),
    ipFamily: choice(
      'Family of the addresses that nodes listen on. With IPv6 nodes accept IPv4, too, where pods have both.',
      ['IPv4', 'IPv6'],
      { default: 'IPv4' },
    ),
    clusterDomain: text('The DNS domain of the Kubernetes cluster. It cannot be changed.', 190, {
      min: 1,
      pattern: DOMAIN,
      default: 'cluster.local',
      rules: [{ rule: 'self == oldSelf', message: 'clusterDomain cannot be changed' }],
    }),
  },
  [
    {
      rule: '!has(self.gateway) || !self.gateway.passthrough || has(self.external)',
      message: 'gateway.passthrough needs a name for each pod: set external.domain',
    },
    {
      rule: '!has(self.gateway) || !has(self.gateway.mcpPath) || self.mcp',
      message: 'gateway.mcpPath is set, but mcp is false',
    },
    {
      rule: '!has(self.ingress) || !has(self.ingress.mcpHostnames) || self.mcp',
      message: 'ingress.mcpHostnames is set, but mcp is false',
    },
  ],
);

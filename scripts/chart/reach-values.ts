/** Values for the names and ports by which clients reach the nodes. */
import { anyObject, flag, type Group, group, objects, oneOf, port, text, textMap, texts, value } from './value.ts';

function route(what: string, members: Group['members'] = {}): Group {
  return group(what, {
    enabled: value(flag, false, 'Whether there is one.'),
    hostnames: value(texts, [], 'The host names that it answers to.'),
    annotations: value(textMap, {}, 'Annotations.'),
    ...members,
  });
}

export const REACH: Group['members'] = {
  listenHost: value(text, '0.0.0.0', 'The address that the nodes listen on. Where pods have IPv6 set it to `::`.'),
  ports: group('The ports of a node, and of its Services.', {
    grpc: value(port, 50_051, 'The gRPC API.'),
    http: value(port, 3000, 'The HTTP API.'),
    mcp: value(port, 3001, 'The MCP endpoint.'),
    metrics: value(port, 9464, 'Metrics, and the probes of the kubelet.'),
    peer: value(port, 50_052, 'What other nodes dial.'),
  }),
  mcp: group('The Model Context Protocol.', {
    enabled: value(flag, true, 'Whether the nodes serve it.'),
  }),
  service: group('The Service for clients. Any node answers, and passes on what another one holds.', {
    type: value(oneOf('ClusterIP', 'NodePort', 'LoadBalancer'), 'ClusterIP', 'Its type.'),
    annotations: value(textMap, {}, 'Annotations, such as those of a load balancer.'),
    spec: value(anyObject, {}, 'Merged into its spec, such as `externalTrafficPolicy: Local`.'),
  }),
  perPod: group('A Service for each pod, so that clients outside reach the node that leads a database.', {
    enabled: value(flag, false, 'Whether there are any.'),
    type: value(oneOf('ClusterIP', 'NodePort', 'LoadBalancer'), 'LoadBalancer', 'Their type.'),
    domain: value(
      text,
      '',
      'The domain in which each pod has its name outside: cairn-0.events.example.com is in events.example.com. Clients that connect by a name in this domain receive the address of the leader in this domain. It is an annotation for external-dns, in the certificate of cert-manager, and in the TLSRoutes. A change restarts the pods.',
    ),
    port: value(
      { type: ['integer', 'null'], minimum: 1, maximum: 65_535 },
      null,
      'The port of gRPC there. null: ports.grpc; behind a Gateway it is mostly 443.',
    ),
    annotations: value(textMap, {}, 'Annotations.'),
    spec: value(anyObject, {}, 'Merged into the spec of each.'),
  }),
  ingress: group('An Ingress to HTTP and MCP, where there is no Gateway. gRPC needs a Gateway or a Service.', {
    enabled: value(flag, false, 'Whether there is one.'),
    className: value(text, '', 'Its class. Empty: the default class of the cluster.'),
    hostnames: value(texts, [], 'The host names of the HTTP API.'),
    mcpHostnames: value(
      texts,
      [],
      'The host names of the MCP endpoint. With an identity provider set config.mcpUrl, too.',
    ),
    tlsSecret: value(text, '', 'A Secret with a certificate for all of these names. Empty: no TLS at the Ingress.'),
    annotations: value(
      textMap,
      {},
      'Annotations of the controller. Where tls.security is not none, one of them has to say that the pods speak HTTPS.',
    ),
  }),
  gateway: group('Routes of the Gateway API.', {
    parentRefs: value(objects, [], 'The Gateways that the routes belong to.'),
    grpcRoute: route('A GRPCRoute to all nodes.'),
    httpRoute: route('An HTTPRoute to all nodes.', {
      mcpPath: value(text, '', 'The path of the MCP endpoint, such as /mcp; the prefix is cut off. Empty: none.'),
    }),
    tlsRoute: group('A TLSRoute to gRPC of each pod, by its name in perPod.domain. TLS ends at the node.', {
      enabled: value(flag, false, 'Whether there are any.'),
      annotations: value(textMap, {}, 'Annotations.'),
      apiVersion: value(
        text,
        'gateway.networking.k8s.io/v1',
        'Before release 1.5 of the Gateway API gateway.networking.k8s.io/v1alpha2.',
      ),
    }),
  }),
};

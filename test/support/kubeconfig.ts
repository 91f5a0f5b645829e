/** A kubeconfig file in JSON, with one server and one token. */
export function kubeconfig(server: string, authorityPath: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'kube',
    contexts: [{ name: 'kube', context: { cluster: 'kube', user: 'admin' } }],
    clusters: [{ name: 'kube', cluster: { server, 'certificate-authority': authorityPath } }],
    users: [{ name: 'admin', user: { token } }],
  });
}

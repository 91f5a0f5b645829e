// The layer law: the table of docs/architecture.md as data, turned into rules for dependency-cruiser.
//
// A layer is a folder of src; it may import its own files, and the doors (index.ts) of the layers listed behind it.
// Type-only imports count like any other. Every rule here has a seeded violation in test/unit/house/layers.test.ts.

const LAYERS = {
  base: { pure: true, mayImport: [] },
  model: { pure: true, mayImport: ['base'] },
  kv: { pure: true, mayImport: ['base'] },
  raft: { pure: true, mayImport: ['base'] },
  archive: { pure: true, mayImport: ['base'] },
  objects: { pure: false, mayImport: ['base', 'archive'] },
  observability: { pure: false, mayImport: ['base'] },
  database: { pure: true, mayImport: ['base', 'model', 'kv'] },
  query: { pure: true, mayImport: ['base', 'model', 'kv', 'database'] },
  storage: { pure: false, mayImport: ['base', 'kv', 'raft', 'observability'] },
  wasm: { pure: false, mayImport: ['base', 'model', 'observability'] },
  components: {
    pure: false,
    mayImport: ['base', 'model', 'kv', 'database', 'query', 'wasm', 'observability'],
  },
  cluster: {
    pure: false,
    mayImport: ['base', 'model', 'kv', 'raft', 'database', 'storage', 'observability'],
  },
  auth: { pure: false, mayImport: ['base', 'model', 'observability'] },
  service: { pure: false, mayImport: ['base', 'model', 'query', 'components', 'cluster', 'auth', 'observability'] },
  ui: { pure: false, mayImport: ['base', 'model'] },
  transport: { pure: false, mayImport: ['base', 'model', 'service', 'cluster', 'auth', 'ui', 'observability'] },
  main: {
    pure: false,
    mayImport: [
      'base',
      'model',
      'kv',
      'raft',
      'archive',
      'objects',
      'observability',
      'database',
      'query',
      'storage',
      'wasm',
      'components',
      'cluster',
      'auth',
      'service',
      'ui',
      'transport',
    ],
  },
};

// A dependency lives in one folder, behind our own type.
const HOMES = {
  '@aws-sdk/client-s3': 'src/objects/',
  'hyparquet-writer': 'src/main/commands/transfer/',
  'classic-level': 'src/storage/',
  pino: 'src/observability/',
  'prom-client': 'src/observability/',
  '@opentelemetry/api': 'src/observability/otel/',
  '@opentelemetry/core': 'src/observability/otel/',
  '@opentelemetry/exporter-trace-otlp-proto': 'src/observability/otel/',
  '@opentelemetry/resources': 'src/observability/otel/',
  '@opentelemetry/sdk-trace': 'src/observability/otel/',
  fastify: 'src/transport/http/',
  '@fastify/busboy': 'src/transport/http/',
  '@toon-format/toon': 'src/ui/toon/',
  '@modelcontextprotocol/server': 'src/transport/mcp/',
  '@modelcontextprotocol/node': 'src/transport/mcp/',
  jose: 'src/auth/',
  '@bufbuild/protobuf': 'src/transport/grpc/',
};

// The same for the operator.
const OPERATOR_HOMES = {
  '@kubernetes/client-node': 'operator/src/kube/',
  '@peculiar/x509': 'operator/src/certificates/',
  'prom-client': 'operator/src/process/',
  'reflect-metadata': 'operator/src/certificates/',
  '@grpc/grpc-js': 'operator/src/client/',
};

const names = Object.keys(LAYERS);
const pureNames = names.filter((name) => LAYERS[name].pure);
const anyOf = (parts) => `(?:${parts.join('|')})`;

const layerRules = names.map((name) => ({
  name: `layer-${name}`,
  comment: `src/${name} may import: ${LAYERS[name].mayImport.join(', ') || 'nothing'}.`,
  severity: 'error',
  from: { path: `^src/${name}/` },
  to: { path: '^src/', pathNot: `^src/${anyOf([name, ...LAYERS[name].mayImport])}/` },
}));

const homeRules = (homes, tree) =>
  Object.entries(homes).map(([dependency, home]) => ({
    name: `home-of-${dependency}`,
    comment: `${dependency} is used only in ${home}; everybody else goes through a type of ours.`,
    severity: 'error',
    from: { path: `^${tree}/`, pathNot: `^${home}` },
    to: { path: `(?:^|/)node_modules/${dependency}/` },
  }));

const forbidden = [
  ...layerRules,
  ...homeRules(HOMES, 'src'),
  ...homeRules(OPERATOR_HOMES, 'operator'),
  {
    name: 'known-layer',
    comment: 'Every file of src lives in a folder of the layer table.',
    severity: 'error',
    from: {},
    to: { path: '^src/', pathNot: `^src/${anyOf(names)}/` },
  },
  {
    name: 'door-only',
    comment: 'Another layer is entered by its door: import from #layer. The links between nodes have their own.',
    severity: 'error',
    from: { path: '^src/([^/]+)/' },
    to: { path: '^src/', pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$', '^src/transport/peer/index\\.ts$'] },
  },
  {
    name: 'pure-no-node',
    comment: 'A pure layer uses nothing of Node.',
    severity: 'error',
    from: { path: `^src/${anyOf(pureNames)}/` },
    to: { dependencyTypes: ['core'] },
  },
  {
    name: 'pure-no-npm',
    comment: 'A pure layer uses no package.',
    severity: 'error',
    from: { path: `^src/${anyOf(pureNames)}/` },
    to: { path: '(?:^|/)node_modules/' },
  },
  {
    name: 'transports-are-strangers',
    comment: 'grpc, http, mcp and peer do not import one another. The protocol of gRPC is below grpc and peer.',
    severity: 'error',
    from: { path: '^src/transport/([^/]+)/' },
    to: { path: '^src/transport/[^/]+/', pathNot: ['^src/transport/$1/', '^src/transport/grpc/wire/'] },
  },
  {
    name: 'messages-of-grpc',
    comment: 'Only gRPC and the admin API use the generated messages; others have the types of model and service.',
    severity: 'error',
    from: { path: '^src/', pathNot: '^src/transport/(?:grpc/|peer/|(?:admin-messages|request-reader)[.]ts$)' },
    to: { path: '^proto/' },
  },
  {
    name: 'operator-is-a-client',
    comment: 'The operator imports nothing of the server; generated messages are in proto/gen.',
    severity: 'error',
    from: { path: '^operator/' },
    to: { path: '^src/' },
  },
  {
    name: 'operator-knows-no-outside',
    comment: 'The operator knows neither its tests nor the tools.',
    severity: 'error',
    from: { path: '^operator/' },
    to: { path: '^(?:test|bench|chaos|examples|scripts|sdk)/' },
  },
  {
    name: 'operator-kube-is-below',
    comment: 'The machinery of the operator knows nothing of Cairn: no schema of its resources, no controller.',
    severity: 'error',
    from: { path: '^operator/src/kube/' },
    to: { path: '^operator/', pathNot: '^operator/src/kube/' },
  },
  {
    name: 'operator-door-only',
    comment: 'Another folder of the operator is entered by its door.',
    severity: 'error',
    from: { path: '^operator/src/([^/]+)/' },
    to: { path: '^operator/src/', pathNot: ['^operator/src/$1/', '^operator/src/[^/]+/index\\.ts$'] },
  },
  {
    name: 'src-knows-no-outside',
    comment: 'The server knows neither its tests nor its tools nor its operator.',
    severity: 'error',
    from: { path: '^src/' },
    to: { path: '^(?:test|bench|chaos|examples|operator|scripts)/' },
  },
  {
    name: 'no-dev-package',
    comment: 'What the server and the operator import is a dependency, pinned, and not a devDependency.',
    severity: 'error',
    from: { path: '^(?:src|operator)/' },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm'] },
  },
  {
    name: 'no-cycle',
    comment: 'No import cycle, not even of types.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'resolvable',
    comment: 'Every import leads somewhere.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
];

module.exports = {
  forbidden,
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    preserveSymlinks: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
